import SerialqSystem

// What a launcher reports about an attempt, in the lines of its file.
extension Launch {
  /// A reason or a name is cut to this number of bytes: it becomes a part of the journal.
  static let longest = 1_000

  /// Takes what the launcher reported; returns how the attempt ended, nil if that is unknown.
  ///
  /// Ignores lines that it does not know, and a last line without a newline: the launcher may have
  /// been killed while it wrote `exit 12`. The last of several results counts.
  mutating func take(_ report: Bytes) -> Ending? {
    let newline = UInt8(ascii: "\n")
    var ending: Ending?
    for line in report.prefix(report.lastIndex(of: newline) ?? 0).split(separator: newline) {
      let word = Bytes(line.prefix { $0 != UInt8(ascii: " ") })
      let value = Bytes(line.dropFirst(word.count + 1).prefix(Self.longest))
      switch word.text {
      case "lost":
        // As part of a sentence: the last line of ssh ends with a period.
        let reason = Bytes(value.last == UInt8(ascii: ".") ? value.dropLast() : value[...])
        (ending, lost) = (nil, reason.isEmpty ? Self.noReason : reason)
      case "job": job = value.isEmpty ? nil : value
      case "node": node = value.isEmpty ? nil : value
      case "started":
        // No date is later.
        guard let seconds = Double(value.text), 0..<253_402_300_800 ~= seconds else { continue }
        started = Timestamp(microseconds: Int64(seconds * 1e6))
      default:
        guard let result = Self.ending(word, value) else { continue }
        (ending, lost) = (result, nil)
      }
    }
    return ending
  }

  private static func ending(_ word: Bytes, _ value: Bytes) -> Ending? {
    switch word.text {
    case "exit": return UInt8(digits: value).map { .exited(Int32($0)) }
    case "signal":
      // 0 is none.
      return SignalName.number(of: value).flatMap { $0 > 0 ? .killed($0) : nil }
    case "cannot":
      let number = Bytes(value.prefix { $0 != UInt8(ascii: " ") })
      guard let code = UInt8(digits: number), [126, 127].contains(code) else { return nil }
      let reason = Bytes(value.dropFirst(number.count + 1))
      return .cannotRun(Int32(code), reason: reason.isEmpty ? noReason : reason)
    default: return nil
    }
  }

  private static let noReason = Bytes("its launcher gave no reason")

  /// Why the job was not started, or its end is unknown, for its log; nil otherwise.
  package func failure(_ ending: Ending?) -> String? {
    switch ending {
    case .cannotRun(_, let reason): Visible.text(reason)
    case nil: lost.map { Visible.text($0) }
    case .exited, .killed: nil
    }
  }

  /// How the attempt ended, nil if that is unknown, and the launch with what was reported.
  ///
  /// `launcher` is how the process of the launcher ended, nil if that was not observed. It is no
  /// result: `srun` exits with 0 when the node of a job dies.
  package func end(_ report: Bytes, launcher: Ending?) -> (ending: Ending?, launch: Launch) {
    var launch = self
    if let ending = launch.take(report) { return (ending, launch) }
    if launch.lost != nil { return (nil, launch) }
    switch launcher {
    // It was not started, and so nothing was.
    case .cannotRun: return (launcher, launch)
    case .exited(let code):
      launch.lost = Bytes("its launcher exited with code \(code) and no result".utf8)
    case .killed(let signal):
      launch.lost = Bytes("its launcher was killed by \(SignalName.of(signal))".utf8)
    case nil: break
    }
    return (nil, launch)
  }
}

extension QueueFolder {
  /// What the launcher of the job has reported.
  package func launcherReport(_ id: JobID) throws(Failure) -> Bytes {
    try FileDescriptor.openIfThere(launcherResult(id), .read)?.bytes(from: 0, 1 << 16) ?? []
  }
}

extension JournalReader {
  /// As `read`, for a command that shows jobs: also takes what the launchers of running jobs have
  /// reported so far, which the journal has not.
  package mutating func readWithReports(
    each: ((Entry, Job?, borrowing Queue) -> Void)? = nil
  ) throws(Failure) -> News {
    let news = try read(each: each)
    takeReports()
    return news
  }

  private mutating func takeReports() {
    for job in queue.running.compactMap(queue.job) {
      guard var launch = job.execution?.launch else { continue }
      _ = launch.take((try? folder.launcherReport(job.id)) ?? [])
      // Only its end says that.
      launch.lost = nil
      if let status = job.status.reported(launch) { queue.apply(.status(job.id, status)) }
    }
  }
}

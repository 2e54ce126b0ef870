import SerialqSystem

/// What a launcher reported about an attempt, in the lines of its file.
///
/// Pure. Ignores lines that it does not know, and a last line without a newline: the launcher may
/// have been killed while it wrote `exit 12`. The last of several results counts.
package struct LauncherReport: Equatable {
  package enum Result: Equatable {
    case ended(Ending)
    /// The end of the job is unknown; holds the reason.
    case lost(Bytes)
  }

  package private(set) var result: Result?
  /// What the engine calls the job.
  package private(set) var job: Bytes?
  /// Where the engine executes it.
  package private(set) var node: Bytes?

  /// A reason or a name is cut to this number of bytes: it becomes a part of the journal.
  static let longest = 1_000
  /// The bytes of a file that are read.
  static let largest = 1 << 16

  package init(_ content: Bytes) {
    let newline = UInt8(ascii: "\n")
    for line in content.prefix(content.lastIndex(of: newline) ?? 0).split(separator: newline) {
      read(line)
    }
  }

  /// The report in this file; empty if it cannot be read, because then nothing is known.
  package init(of id: JobID, in folder: QueueFolder) {
    let file = try? FileDescriptor.openIfThere(folder.launcherResult(id), .read)
    self.init((try? file?.bytes(from: 0, LauncherReport.largest)) ?? [])
  }

  private mutating func read(_ line: Bytes.SubSequence) {
    let space = UInt8(ascii: " ")
    let word = Bytes(line.prefix { $0 != space })
    let value = Bytes(line.dropFirst(word.count + 1).prefix(LauncherReport.longest))
    switch word.text {
    case "exit":
      if let code = LauncherReport.code(value) { result = .ended(.exited(code)) }
    case "signal":
      // 0 is none.
      if let signal = SignalName.number(of: value), signal > 0 { result = .ended(.killed(signal)) }
    case "cannot":
      let number = Bytes(value.prefix { $0 != space })
      if let code = LauncherReport.code(number), [126, 127].contains(code) {
        let reason = Bytes(value.dropFirst(number.count + 1))
        result = .ended(.cannotRun(code, reason: reason.isEmpty ? noReason : reason))
      }
    // As part of a sentence: the last line of ssh ends with a period.
    case "lost":
      let reason = value.last == UInt8(ascii: ".") ? value.dropLast() : value
      result = .lost(reason.isEmpty ? noReason : reason)
    case "job": job = value.isEmpty ? nil : value
    case "node": node = value.isEmpty ? nil : value
    default: break
    }
  }

  private var noReason: Bytes { Bytes("its launcher gave no reason") }

  private static func code(_ digits: Bytes) -> Int32? {
    UInt8(digits: digits).map { Int32($0) }
  }
}

extension Launch {
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
  package func end(_ report: LauncherReport, launcher: Ending?) -> (ending: Ending?, launch: Launch)
  {
    var launch = self
    launch.job = report.job
    launch.node = report.node
    switch report.result {
    case .ended(let ending): return (ending, launch)
    case .lost(let reason): launch.lost = reason
    case nil:
      switch launcher {
      // It was not started, and so nothing was.
      case .cannotRun: return (launcher, launch)
      case .exited(let code):
        launch.lost = Bytes("its launcher exited with code \(code) and no result".utf8)
      case .killed(let signal):
        launch.lost = Bytes("its launcher was killed by \(SignalName.of(signal))".utf8)
      case nil: break
      }
    }
    return (nil, launch)
  }
}

extension Job {
  /// The launcher of the last attempt with what it reported, so far if the job is running.
  package func launch(in folder: QueueFolder) -> Launch? {
    guard var launch = execution?.launch, state == .running else { return execution?.launch }
    let report = LauncherReport(of: id, in: folder)
    launch.job = report.job
    launch.node = report.node
    return launch
  }
}

import SerialqQueue
import SerialqSystem

/// Decides which part of a log that is too long is dropped: a part of the middle.
///
/// Pure; the result is within the limit, so that a log is not cut twice.
package struct LogLimit: Equatable {
  /// The number of bytes to keep at the start, up to a line end unless that drops most of them.
  var head: Int64
  /// Where the end of the log starts, at the start of a line unless that drops most of it.
  var tail: Int64
  private let limit: Int
  private let endsLine: Bool

  /// Left for the line that names the dropped part.
  private static let reserve: Int64 = 100

  /// The most bytes to read at each end.
  static func part(of limit: Int) -> Int64 { (Int64(limit) - reserve) / 2 }

  /// Cuts a log of `size` bytes; `start` and `end` are its first and last ``part(of:)`` bytes.
  init(_ limit: Int, start: Bytes, end: Bytes, size: Int64) {
    let newline = UInt8(ascii: "\n")
    let lastEnd = start[(start.count / 2)...].lastIndex(of: newline)
    head = Int64(lastEnd.map { $0 + 1 } ?? start.count)
    endsLine = lastEnd != nil
    // The line that the limit cuts begins before it.
    let firstEnd = end.prefix(end.count / 2).firstIndex(of: newline)
    tail = size - Int64(end.count) + Int64(firstEnd.map { $0 + 1 } ?? 0)
    self.limit = limit
  }

  /// The line that takes the place of the dropped part.
  var notice: Bytes {
    let size = Humanize.size(Int64(limit))
    let text = "serialq: \(tail - head) bytes dropped here (log-limit \(size))\n"
    return Bytes((endsLine ? text : "\n" + text).utf8)
  }
}

extension RunnerSteps {
  /// Drops the middle of the log of a job that is over, if it is longer than the limit.
  ///
  /// Call it before the end is recorded, so that all commands see the same log after that. Replaces
  /// the file atomically, and keeps the whole one for followers that have yet to print it. Does
  /// nothing before a retry, whose output a reader of the file would miss, or while a process that
  /// the job left behind may write to the file. Ignores errors, such as a full disk, and keeps the
  /// whole log then.
  func limitLog(of job: Job, ending state: JobState) {
    guard !job.isRetried(after: state), let limit = queue.settings.logLimit else { return }
    do throws(Failure) {
      guard try !JobLock.isHeld(job.id, folder) else { return }
      try LogLimit.apply(limit, to: folder.log(job.id), by: folder.newLog) {
        if UnreadLogs(in: folder).keep(job) { keepsLogs = true }
      }
    } catch {
      try? FileSystem.remove(folder.newLog)
      say("serialq: job \(job.id): its log is not cut: \(error.sentence)")
    }
  }
}

extension LogLimit {
  fileprivate static func apply(
    _ limit: Int, to path: Bytes, by new: Bytes, keeping keep: () -> Void
  ) throws(Failure) {
    guard let log = try FileDescriptor.openIfThere(path, .read) else { return }
    let size = try log.status().size
    guard size > limit else { return }
    let part = part(of: limit)
    let start = try log.bytes(from: 0, Int(part))
    let end = try log.bytes(from: size - part, Int(part))
    let cut = LogLimit(limit, start: start, end: end, size: size)
    let file = try FileDescriptor.open(new, .emptied)
    try file.writeAll(Bytes(start.prefix(Int(cut.head))) + cut.notice)
    try file.writeAll(Bytes(end.suffix(Int(size - cut.tail))))
    // Before the rename: a power loss must leave one of the two logs.
    try file.flushData()
    keep()
    try FileSystem.rename(new, to: path)
  }
}

import SerialqSystem

/// A copy of standard input, which jobs can read until they are forgotten.
///
/// Written before the journal is locked, because it can take long, to a temporary file. The lock of
/// that file shows that its writer is alive: a file that a dead process left is deleted.
package final class InputCopy {
  /// The most bytes of a copy.
  package static let limit: Int64 = 1 << 30

  private let folder: QueueFolder
  private let file: FileDescriptor
  /// The temporary file; nil once it has another name.
  private var temporary: Bytes?

  /// Copies `source` to its end; the content is durable on return.
  package init(
    of source: FileDescriptor, in folder: QueueFolder, atMost limit: Int64 = InputCopy.limit
  ) throws(Failure) {
    let path = folder.inputs.appending(path: Bytes(".new-\(Machine.processID())".utf8))
    self.folder = folder
    file = try folder.whileItExists { () throws(Failure) in try InputCopy.open(path) }
    temporary = path
    do throws(Failure) {
      // A large file is refused at once.
      guard try source.rest ?? 0 <= limit, try source.copyAll(to: file, atMost: limit) else {
        throw Failure(
          "standard input", "it has more than \(Humanize.size(limit)), the most that is copied",
          next: "Nothing was queued. Write it to a file, and use: --input FILE")
      }
      try file.flushData()
    } catch {
      try? FileSystem.remove(path)
      throw error
    }
  }

  deinit {
    if let temporary { try? FileSystem.remove(temporary) }
  }

  private static func open(_ path: Bytes) throws(Failure) -> FileDescriptor {
    while true {
      let file = try FileDescriptor.open(path, .lock)
      try file.lock()
      // It was deleted before it was locked: without the lock, it looked abandoned.
      guard try FileSystem.status(of: path)?.identity == file.status().identity else { continue }
      try file.truncate(to: 0)
      return file
    }
  }

  /// Names the copy after the first of the jobs that are added under the same lock; durable on
  /// return.
  package func keep(for id: JobID, in scope: JournalScope) throws(Failure) {
    guard let path = temporary else { return }
    try scope.replace(folder.inputCopy(id), by: path, in: folder.inputs)
    temporary = nil
    try? InputCopy.removeAbandoned(in: folder)
  }

  /// Deletes the copy under the lock under which it was kept, because the jobs were not added.
  package func remove(keptFor id: JobID) {
    if temporary == nil { try? FileSystem.remove(folder.inputCopy(id)) }
  }

  /// Deletes the copies that no job of the queue uses, and the files that dead processes left.
  static func removeUnused(by queue: Queue, in folder: QueueFolder) throws(Failure) {
    let used = Set(queue.jobs.compactMap { $0.input?.copiedFor })
    for name in try FileSystem.names(in: folder.inputs) {
      guard let id = JobID.parse(name), !used.contains(id) else { continue }
      try FileSystem.remove(folder.inputs.appending(path: name))
    }
    try removeAbandoned(in: folder)
  }

  /// Deletes the files that dead processes left.
  private static func removeAbandoned(in folder: QueueFolder) throws(Failure) {
    for name in try FileSystem.names(in: folder.inputs) where JobID.parse(name) == nil {
      let path = folder.inputs.appending(path: name)
      guard let file = try FileDescriptor.openIfThere(path, .readWrite), try file.tryLock()
      else { continue }
      // Deleted under its lock: a new process may just have opened it.
      try withExtendedLifetime(file) { () throws(Failure) in try FileSystem.remove(path) }
    }
  }
}

extension Input {
  fileprivate var copiedFor: JobID? { if case .copy(let id) = self { id } else { nil } }
}

extension QueueFolder {
  /// The file that a job reads from standard input; nil for nothing.
  package func input(of job: Job) -> Bytes? {
    switch job.input {
    case .file(let path): path
    case .copy(let id): inputCopy(id)
    case nil: nil
    }
  }

  /// Deletes what belongs to forgotten jobs, if no job in `queue`, which may contain them, uses it;
  /// ignores errors, because a remaining file is harmless.
  ///
  /// Keeps logs that followers have yet to print, unless `keepsUnread` is false; returns whether it
  /// did.
  @discardableResult
  package func removeFiles(
    of ids: [ClosedRange<JobID>], in queue: Queue, keepsUnread: Bool = true
  ) -> Bool {
    let keepsLogs = removeLogs(of: ids, in: queue, keepsUnread: keepsUnread)
    var unused = Set(ids.joined().compactMap { queue.job($0)?.input?.copiedFor })
    if unused.isEmpty { return keepsLogs }
    for job in queue.jobs where !ids.contains(where: { $0.contains(job.id) }) {
      if let id = job.input?.copiedFor { unused.remove(id) }
    }
    for id in unused { try? FileSystem.remove(inputCopy(id)) }
    return keepsLogs
  }

  private func removeLogs(
    of ids: [ClosedRange<JobID>], in queue: Queue, keepsUnread: Bool
  ) -> Bool {
    var keepsLogs = false
    let unread = keepsUnread && !ids.isEmpty ? UnreadLogs(in: self) : nil
    for range in ids {
      let isUnread = unread?.contain(range) == true
      for id in range {
        if isUnread, let job = queue.job(id), unread?.keep(job) == true { keepsLogs = true }
        try? FileSystem.remove(log(id))
      }
    }
    return keepsLogs
  }
}

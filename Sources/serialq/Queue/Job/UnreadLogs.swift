import SerialqSystem

/// The logs that followers of a queue have yet to print.
///
/// A follower holds a shared lock of one byte of a file for each job, which the kernel releases
/// however the follower ends. A log that is to be removed, cut or replaced while its byte is locked
/// keeps its content under another name. The last follower that has printed it removes that name,
/// or if it was killed, a runner.
package struct UnreadLogs {
  private let folder: QueueFolder
  /// Nil if no follower was here, or if the file cannot be used.
  private let file: FileDescriptor?
  /// Whether the file could not be opened for want of something that comes back: all may be unread.
  private let isUnknown: Bool

  /// For a process that removes or replaces logs.
  package init(in folder: QueueFolder) {
    self.folder = folder
    do throws(Failure) {
      file = try FileDescriptor.openIfThere(folder.followersLock, .check)
      isUnknown = false
    } catch {
      file = nil
      isUnknown = error.isShortage
    }
  }

  /// For a follower of these jobs; call it before the journal is read.
  ///
  /// Retains nothing where the file cannot be made or locked, as on a read-only file system.
  package init(retaining ids: [ClosedRange<JobID>], in folder: QueueFolder) throws(Failure) {
    self.folder = folder
    isUnknown = false
    do throws(Failure) {
      file = try FileDescriptor.open(folder.followersLock, .lock)
    } catch {
      if error.isShortage { throw error }
      file = nil
    }
    for range in ids { retain(range) }
  }

  /// Whether another follower, or another process, has yet to print the log of one of these jobs.
  package func contain(_ ids: ClosedRange<JobID>) -> Bool {
    isUnknown || (try? file?.isLocked(ids)) ?? false
  }

  /// Keeps the log of the latest attempt of a job if a follower has yet to print it; returns
  /// whether it did.
  ///
  /// Call it before the log is removed or replaced.
  @discardableResult
  package func keep(_ job: Job) -> Bool {
    guard contain(job.id...job.id) else { return false }
    let kept = folder.keptLog(job.id, job.attempts)
    // Does nothing if it was kept before it was cut.
    try? FileSystem.link(folder.log(job.id), as: kept)
    // A follower that has printed it meanwhile removed no other name.
    if contain(job.id...job.id) { return true }
    try? FileSystem.remove(kept)
    return false
  }

  // MARK: Followers

  package func retain(_ ids: ClosedRange<JobID>) { try? file?.lockShared(ids) }

  /// Notes that the logs of a job up to this attempt were printed; nil if none can have been kept.
  ///
  /// A runner removes what it has kept because of a setting that the follower has not read yet.
  package func release(_ id: JobID, attempt: Int?) {
    file?.unlock(id...id)
    guard let attempt, !contain(id...id) else { return }
    if attempt == 1 { try? FileSystem.remove(folder.keptLog(id, attempt)) } else { sweep() }
  }

  /// Retains only the logs of jobs that are not over in this queue, or not in it yet, and removes
  /// what was kept of the others.
  package func releaseOver(in queue: Queue) {
    var start: JobID = 1
    for id in queue.jobs.lazy.filter({ !$0.state.isOver }).map(\.id) + [queue.nextID] {
      if start < id { file?.unlock(start...(id - 1)) }
      start = id + 1
    }
    sweep()
  }

  package func releaseAll() {
    file?.unlock(1...Int.max)
    sweep()
  }

  private func sweep() {
    folder.removeKeptLogs(among: (try? FileSystem.names(in: folder.locks)) ?? [])
  }
}

extension QueueFolder {
  /// The log of the last attempt that is in the same log as this one of a job, if it was kept.
  package func openKeptLog(of job: Job) throws(Failure) -> FileDescriptor? {
    var attempt = job.attempts
    // Automatic retries continue a log, and may have done so since this state of the job.
    if !job.state.isOver, job.limits.retries > job.retriesUsed {
      let kept = try FileSystem.names(in: locks).compactMap(KeptLogName.init)
      let later = kept.filter { $0.id == job.id && $0.attempt >= attempt }
      attempt = later.map(\.attempt).min() ?? attempt
    }
    return try FileDescriptor.openIfThere(keptLog(job.id, attempt), .read)
  }

  /// Removes the kept logs among these files in ``locks`` that no follower has yet to print.
  package func removeKeptLogs(among names: [Bytes]) {
    let unread = UnreadLogs(in: self)
    for name in names.compactMap(KeptLogName.init) where !unread.contain(name.id...name.id) {
      try? FileSystem.remove(keptLog(name.id, name.attempt))
    }
  }
}

/// The name of a kept log: `ID.ATTEMPT.log`.
private struct KeptLogName {
  let id: JobID
  let attempt: Int

  init?(_ name: Bytes) {
    let parts = name.text.split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count == 3, parts[2] == "log", let id = JobID(parts[0]), let attempt = Int(parts[1])
    else { return nil }
    (self.id, self.attempt) = (id, attempt)
  }
}

import SerialqSystem

/// Work that a process left undone because it failed or died between a change and its flush.
///
/// The files themselves do not show a missing flush. So the size of the lock file records it, and
/// the next process that locks the journal completes the work. The record must survive the process
/// but not the machine: after a restart, everything that can be read is on the disk.
enum UnfinishedWork: Int64 {
  case none
  /// A file was renamed over another, and a power loss could still undo it.
  case flushNames
  /// A flush of the journal failed; a later flush can succeed without writing the data.
  case rewriteJournal
}

extension JournalScope {
  /// Completes the work of an earlier process, before anything else; fails if that is impossible.
  mutating func finishWork(recordedBy size: Int64) throws(Failure) {
    guard size > 0 else { return }
    let folder = journal.folder
    if size == UnfinishedWork.flushNames.rawValue {
      for path in [folder.path, folder.environments, folder.inputs] {
        try FileSystem.flush(folder: path)
      }
    } else {
      // `status` reports the damaged lines that compaction removes.
      _ = try rewrite()
    }
    leave(.none)
  }

  /// Renames `new` to `path` durably; both are in `folder`.
  func replace(_ path: Bytes, by new: Bytes, in folder: Bytes) throws(Failure) {
    try lock.truncate(to: UnfinishedWork.flushNames.rawValue)
    try FileSystem.rename(new, to: path)
    try FileSystem.flush(folder: folder)
    leave(.none)
  }

  /// Replaces a file durably by a new one, under a temporary name until it is complete.
  func replace(
    _ path: Bytes, by new: Bytes, in folder: Bytes,
    _ write: (FileDescriptor) throws(Failure) -> Void
  ) throws(Failure) {
    do throws(Failure) {
      let file = try FileDescriptor.open(new, .emptied)
      try write(file)
      try journal.output.flush(file)
      try replace(path, by: new, in: folder)
    } catch {
      try? FileSystem.remove(new)
      throw error
    }
  }

  /// Records unfinished work; ignores errors.
  ///
  /// If clearing fails, finished work is repeated, which is harmless. If setting fails, the disk
  /// rejects all changes. Changes the size without a write: a full disk has no space for one.
  func leave(_ work: UnfinishedWork) { try? lock.truncate(to: work.rawValue) }
}

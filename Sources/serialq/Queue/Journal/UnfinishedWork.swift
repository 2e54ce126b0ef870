import SerialqSystem

/// What a process leaves undone when it fails, or dies, between a change and the flush that makes it
/// durable: nobody can see from the files themselves that the flush never came.
///
/// Kept as the size of the lock file, so that whoever locks the journal next finishes it first. It
/// outlives the process, and need not outlive the machine: after that, what is there is on the disk.
enum UnfinishedWork: Int64 {
  case none
  /// A file was put in another's place, and a power loss could still undo that.
  case flushNames
  /// The journal could not be flushed, so it may not be on the disk though a later flush succeeds.
  case rewriteJournal
}

extension JournalScope {
  /// Does what an earlier process left undone; first of all, and nothing else is done if it fails.
  mutating func finishWork() throws(Failure) {
    let folder = journal.folder
    let size = try attempt("looking at \(folder.lock.text)") { () throws(SystemError) in
      try lock.status().size
    }
    guard size > 0 else { return }
    if size == UnfinishedWork.flushNames.rawValue {
      try attempt("flushing \(folder.path.text)") { () throws(SystemError) in
        for path in [folder.path, folder.environments] { try FileSystem.flush(folder: path) }
      }
    } else {
      // Damaged lines that it puts aside are told by `status`.
      _ = try compact()
    }
    leave(.none)
  }

  /// Puts the file at `new` in the place of the one at `path`, both in `folder`, durably.
  func replace(_ path: Bytes, by new: Bytes, in folder: Bytes) throws(SystemError) {
    try lock.truncate(to: UnfinishedWork.flushNames.rawValue)
    try FileSystem.rename(new, to: path)
    try FileSystem.flush(folder: folder)
    leave(.none)
  }

  /// Should it fail, there is work left that was done already, which does no harm; or a flush failed
  /// on a disk that cannot be written to any more.
  ///
  /// The file grows without a write, for which a full disk has no room.
  func leave(_ work: UnfinishedWork) { try? lock.truncate(to: work.rawValue) }
}

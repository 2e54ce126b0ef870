#if os(Linux)
  import Glibc

  /// Wakes when files in a folder are made, grow, are replaced or go, without polling:
  /// `inotify(7)`.
  ///
  /// Says only that something happened: the reader looks for itself what, so a lost or doubled
  /// event does no harm.
  final class FileWatch: Sendable {
    private let events: FileDescriptor

    /// Watches these folders, not what is in folders inside them.
    init(folders: [Bytes] = []) throws(SystemError) {
      let flags = Int32(IN_CLOEXEC) | Int32(IN_NONBLOCK)
      events = FileDescriptor(owning: try retrying("inotify_init1") { inotify_init1(flags) })
      for folder in folders { try add(folder: folder) }
    }

    /// Has input when something happened; for ``waitForInput(on:timeoutMilliseconds:)``.
    var descriptor: Int32 { events.raw }

    /// Wakes for every file of the folder.
    func add(folder path: Bytes) throws(SystemError) {
      try add(path, IN_MODIFY | IN_CREATE | IN_MOVED_TO | IN_DELETE)
    }

    /// Wakes for this file alone, and also when a process that could write it closes it or dies.
    func add(file path: Bytes) throws(SystemError) {
      try add(path, IN_MODIFY | IN_CLOSE_WRITE | IN_DELETE_SELF | IN_MOVE_SELF)
    }

    /// Takes what has been reported, so that the next wait sleeps; called before looking at the
    /// files, so that a change made while looking wakes again.
    func drain() {
      withUnsafeTemporaryAllocation(byteCount: 4096, alignment: 8) { buffer in
        while read(events.raw, buffer.baseAddress, buffer.count) > 0 || errno == EINTR {}
      }
    }

    private func add(_ path: Bytes, _ mask: Int32) throws(SystemError) {
      _ = try path.withCPath { path in
        Result { () throws(SystemError) in
          try retrying("inotify_add_watch") {
            inotify_add_watch(events.raw, path, UInt32(bitPattern: mask))
          }
        }
      }.get()
    }
  }
#endif

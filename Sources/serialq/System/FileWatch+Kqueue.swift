#if canImport(Darwin) || KQUEUE
  import SerialPromises

  #if KQUEUE
    // libkqueue on Linux: see KqueueTests.
    import CKqueue
    private let O_EVTONLY = O_RDONLY
  #endif

  /// Wakes when files in a folder are created, grow, are replaced or are deleted, by `kqueue(2)`
  /// with `EVFILT_VNODE`.
  ///
  /// A folder reports only changes of its entries, so each file in it is watched through a
  /// descriptor of its own. ``drain()`` looks for new files.
  ///
  /// Also polls ten times a second when a folder has more files than it watches, or no more files
  /// can be opened: macOS allows a process 256 by default, and a queue can have more logs.
  package final class FileWatch: Sendable {
    /// An open file or folder whose changes are reported.
    private final class Watched: Sendable {
      private let file: FileDescriptor
      private let events: FileDescriptor
      let identity: FileStatus.Identity

      init(_ path: Bytes, _ events: FileDescriptor) throws(Failure) {
        file = FileDescriptor(
          owning: try retrying("open", "watching", path: path) { open($0, O_EVTONLY | O_CLOEXEC) },
          name: path)
        self.events = events
        identity = try file.status().identity
        let notes = NOTE_WRITE | NOTE_EXTEND | NOTE_DELETE | NOTE_RENAME
        try change(EV_ADD | EV_CLEAR, UInt32(notes))
      }

      // Closing the file does the same on Darwin, but not with libkqueue.
      deinit { try? change(EV_DELETE, 0) }

      private func change(_ flags: Int32, _ notes: UInt32) throws(Failure) {
        try FileWatch.change(
          events, ident: UInt(file.raw), EVFILT_VNODE, flags, notes: notes, data: 0)
      }
    }

    private struct Folder {
      let path: Bytes
      let folder: Watched
      var files: [Bytes: Watched] = [:]
    }

    private let events: FileDescriptor
    private let folders: Locked<[Folder]>
    /// The number of watched files of a folder.
    private static let limit = 64

    /// Watches these folders, but not their subfolders; also whether `root`, one of them, is
    /// removed.
    ///
    /// Every watch `endsAtOnce`.
    package init(
      folders paths: [Bytes], removalOf root: Bytes? = nil, endsAtOnce: Bool = false
    ) throws(Failure) {
      events = FileDescriptor(
        owning: try retrying("kqueue", "watching", paths[0]) { kqueue() }, name: paths[0])
      var opened: [Folder] = []
      for path in paths {
        opened.append(Folder(path: path, folder: try Watched(path, events)))
        try Self.findFiles(of: &opened[opened.count - 1], events)
      }
      folders = Locked(opened)
    }

    /// Becomes readable after a change; for ``waitForInput(on:until:)``.
    package var descriptor: Int32 { events.raw }

    /// Consumes the pending events, so that the next wait blocks.
    ///
    /// Call it before checking the files: otherwise a change during the check is lost.
    package func drain() {
      var event = kevent()
      var now = timespec()
      while kevent(events.raw, nil, 0, &event, 1, &now) > 0 {}
      folders.withLock { folders in
        for index in folders.indices { try? Self.findFiles(of: &folders[index], events) }
      }
    }

    /// Watches the files that the folder has now.
    private static func findFiles(
      of folder: inout Folder, _ events: FileDescriptor
    ) throws(Failure) {
      var files: [Bytes: Watched] = [:]
      var isComplete = true
      for name in try FileSystem.names(in: folder.path) {
        let path = folder.path.appending(path: name)
        guard let status = try FileSystem.status(of: path), status.kind == .file else { continue }
        if let known = folder.files[name], known.identity == status.identity {
          files[name] = known
        } else if files.count < limit, let file = try file(path, events) {
          files[name] = file
        } else {
          isComplete = false
        }
      }
      // Wakes after 100 ms, once: the next ``drain()`` decides whether to poll again.
      if !isComplete {
        try change(events, ident: 0, EVFILT_TIMER, EV_ADD | EV_ONESHOT, notes: 0, data: 100)
      }
      // Closes the descriptors of deleted files.
      folder.files = files
    }

    /// Watches a file; returns nil if it was deleted meanwhile, or if no more files can be opened.
    private static func file(
      _ path: Bytes, _ events: FileDescriptor
    ) throws(Failure) -> Watched? {
      do throws(Failure) {
        return try Watched(path, events)
      } catch {
        if [ENOENT, EMFILE, ENFILE].contains(error.number) { return nil }
        throw error
      }
    }

    private static func change(
      _ events: FileDescriptor, ident: UInt, _ filter: Int32, _ flags: Int32, notes: UInt32,
      data: Int
    ) throws(Failure) {
      var change = kevent(
        ident: ident, filter: Int16(filter), flags: UInt16(flags), fflags: notes, data: data,
        udata: nil)
      _ = try retrying("kevent", "watching", events.name) {
        kevent(events.raw, &change, 1, nil, 0, nil)
      }
    }
  }
#endif

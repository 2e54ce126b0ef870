#if canImport(Darwin)
  /// Wakes when files in a folder are created, grow, are replaced or are deleted, by `kqueue(2)`
  /// with `EVFILT_VNODE`.
  ///
  /// Written from the manual and untested: the project is tested on Linux only. On Darwin a folder
  /// reports only changes of its entries, so each file is watched separately. ``drain()`` looks for
  /// new files.
  package final class FileWatch {
    private let events: FileDescriptor
    private var folders: [Bytes] = []
    private var watched: [Bytes: FileDescriptor] = [:]

    package init(folders: [Bytes]) throws(Failure) {
      events = FileDescriptor(owning: try retrying("kqueue", "watching", folders[0]) { kqueue() })
      for folder in folders { try add(folder: folder) }
    }

    package var descriptor: Int32 { events.raw }

    private func add(folder path: Bytes) throws(Failure) {
      try add(file: path)
      folders.append(path)
      try addFiles(of: path)
    }

    private func add(file path: Bytes) throws(Failure) {
      let file = FileDescriptor(
        owning: try retrying("open", "watching", path: path) { open($0, O_EVTONLY | O_CLOEXEC) },
        name: path)
      let flags = NOTE_WRITE | NOTE_EXTEND | NOTE_DELETE | NOTE_RENAME
      var change = kevent(
        ident: UInt(file.raw), filter: Int16(EVFILT_VNODE), flags: UInt16(EV_ADD | EV_CLEAR),
        fflags: UInt32(flags), data: 0, udata: nil)
      _ = try retrying("kevent", "watching", path) { kevent(events.raw, &change, 1, nil, 0, nil) }
      // Closes the previous descriptor of the path, which also removes its kevent.
      watched[path] = file
    }

    package func drain() {
      var event = kevent()
      var now = timespec()
      while kevent(events.raw, nil, 0, &event, 1, &now) > 0 {}
      for folder in folders { try? addFiles(of: folder) }
    }

    private func addFiles(of folder: Bytes) throws(Failure) {
      for name in try FileSystem.names(in: folder) {
        let path = folder.appending(path: name)
        guard let status = try FileSystem.status(of: path), status.kind == .file else { continue }
        if try watched[path]?.status().identity == status.identity { continue }
        try add(file: path)
      }
    }
  }
#endif

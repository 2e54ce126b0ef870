#if os(Linux) && !KQUEUE
  import Dispatch
  import Synchronization

  /// The descriptor to which the handler of SIGIO writes.
  ///
  /// Not the library's type, of which one form takes a lock: the handler could interrupt its
  /// holder.
  private let signaled = Synchronization.Atomic<Int32>(-1)

  /// Wakes when files in a folder are created, grow, are replaced or are deleted, by `inotify(7)`
  /// or by F_NOTIFY of `fcntl(2)`.
  ///
  /// Reports only that something changed. The reader checks the files itself, so lost or duplicate
  /// events are harmless.
  ///
  /// Falls back to polling ten times a second when inotify is exhausted: the limit is 128 instances
  /// per user, and it must not make a runner or a `wait` fail.
  package final class FileWatch: Sendable {
    private enum Source {
      case events(FileDescriptor, watches: [Int32])
      case signals(WakeUpPipe, folders: [FileDescriptor])
      case alarm(WakeUpPipe, any DispatchSourceTimer)
    }

    // DispatchSourceTimer is safe to cancel from any thread.
    nonisolated(unsafe) private let source: Source

    /// Watches these folders, but not their subfolders; also whether `root` is removed.
    ///
    /// The end of a watch by inotify, and so of its process, blocks for an RCU grace period on
    /// Linux: a part of a millisecond, or ten on a busy machine. With `endsAtOnce` it does not, but
    /// a process can have only one such watch, because it is notified by SIGIO.
    package init(
      folders: [Bytes], removalOf root: Bytes? = nil, endsAtOnce: Bool = false
    ) throws(Failure) {
      if endsAtOnce, let signals = Self.signals(folders, root) {
        source = signals
        return
      }
      do {
        source = try Self.events(folders, root)
      } catch  where error.number == EMFILE || error.number == ENOSPC {
        // Fails again here if the process has no descriptor left, and reports that.
        source = try Self.alarm()
      }
    }

    deinit {
      switch source {
      case .events(let events, let watches):
        // Closing an inotify descriptor with active watches blocks for longer.
        for watch in watches { inotify_rm_watch(events.raw, watch) }
      case .signals(let pipe, _):
        Self.stopSignaling(pipe)
      case .alarm(_, let timer): timer.cancel()
      }
    }

    /// Becomes readable after a change; for ``waitForInput(on:until:)``.
    package var descriptor: Int32 {
      switch source {
      case .events(let events, _): events.raw
      case .signals(let pipe, _), .alarm(let pipe, _): pipe.descriptor
      }
    }

    /// Consumes the pending events, so that the next wait blocks.
    ///
    /// Call it before checking the files: otherwise a change during the check is lost.
    package func drain() {
      switch source {
      case .events(let events, _):
        withUnsafeTemporaryAllocation(byteCount: 4096, alignment: 8) { buffer in
          // Further events did not fit if there was no room for one with the longest name.
          let room = buffer.count - MemoryLayout<inotify_event>.size - Int(NAME_MAX) - 1
          var count: Int
          repeat {
            count = read(events.raw, buffer.baseAddress, buffer.count)
          } while count > room || count < 0 && errno == EINTR
        }
      case .signals(let pipe, _), .alarm(let pipe, _): pipe.drain()
      }
    }

    private static func events(_ folders: [Bytes], _ root: Bytes?) throws(Failure) -> Source {
      let flags = Int32(IN_CLOEXEC) | Int32(IN_NONBLOCK)
      let events = FileDescriptor(
        owning: try retrying("inotify_init1", "watching", folders[0]) { inotify_init1(flags) })
      let mask = UInt32(IN_MODIFY | IN_CREATE | IN_MOVED_TO | IN_DELETE)
      var watches = try folders.map { (folder) throws(Failure) in
        try retrying("inotify_add_watch", "watching", path: folder) {
          inotify_add_watch(events.raw, $0, mask)
        }
      }
      // While a process has a file below it open, a removed folder exists without a name, and its
      // own watch reports nothing. The folder above it may be unreadable: then this is not noticed.
      if let above = root?.appending(path: Bytes("..")) {
        let watch = above.withCString {
          inotify_add_watch(events.raw, $0, UInt32(IN_DELETE | IN_MOVED_FROM))
        }
        if watch >= 0 { watches.append(watch) }
      }
      return .events(events, watches: watches)
    }

    /// Nil where the kernel has no such notifications, or a folder cannot be opened.
    private static func signals(_ folders: [Bytes], _ root: Bytes?) -> Source? {
      guard let pipe = try? WakeUpPipe() else { return nil }
      signaled.store(pipe.writer, ordering: .sequentiallyConsistent)
      // Before the first signal, whose default action ends the process.
      signal(SIGIO) { _ in
        let error = errno
        var byte: UInt8 = 0
        let pipe = signaled.load(ordering: .sequentiallyConsistent)
        while write(pipe, &byte, 1) < 0, errno == EINTR {}
        errno = error
      }
      // The process may have inherited a mask that blocks it.
      var own = signalSet([SIGIO])
      pthread_sigmask(SIG_UNBLOCK, &own, nil)
      let events = DN_MODIFY | DN_CREATE | DN_DELETE | DN_RENAME
      var opened = folders.compactMap { notifying($0, of: events) }
      guard opened.count == folders.count else {
        stopSignaling(pipe)
        return nil
      }
      // As for inotify.
      if let above = root?.appending(path: Bytes("..")),
        let folder = notifying(above, of: DN_DELETE | DN_RENAME)
      {
        opened.append(folder)
      }
      return .signals(pipe, folders: opened)
    }

    /// Call it before the pipe is closed: then another file may get its number.
    ///
    /// A later watch may have its own pipe. No handler runs meanwhile: the other threads block the
    /// signal, and this one is not in a handler.
    private static func stopSignaling(_ pipe: WakeUpPipe) {
      _ = signaled.compareExchange(
        expected: pipe.writer, desired: -1, ordering: .sequentiallyConsistent)
    }

    /// Opens a folder that sends SIGIO at each of these changes until it is closed.
    private static func notifying(_ path: Bytes, of events: Int32) -> FileDescriptor? {
      let raw = path.withCString { open($0, O_RDONLY | O_DIRECTORY | O_CLOEXEC) }
      guard raw >= 0 else { return nil }
      let folder = FileDescriptor(owning: raw, name: path)
      let isNotifying = fcntl(raw, F_NOTIFY, events | Int32(bitPattern: DN_MULTISHOT)) == 0
      return isNotifying ? folder : nil
    }

    private static func alarm() throws(Failure) -> Source {
      let pipe = try WakeUpPipe()
      let timer = DispatchSource.makeTimerSource()
      timer.schedule(deadline: .now(), repeating: .milliseconds(100), leeway: .milliseconds(20))
      timer.setEventHandler { pipe.wake() }
      timer.activate()
      return .alarm(pipe, timer)
    }
  }
#endif

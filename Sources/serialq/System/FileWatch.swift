#if os(Linux) && !KQUEUE
  import Dispatch

  /// Wakes when files in a folder are created, grow, are replaced or are deleted, by `inotify(7)`.
  ///
  /// Reports only that something changed. The reader checks the files itself, so lost or duplicate
  /// events are harmless.
  ///
  /// Falls back to polling ten times a second when inotify is exhausted: the limit is 128 instances
  /// per user, and it must not make a runner or a `wait` fail.
  package final class FileWatch: Sendable {
    private enum Source {
      case events(FileDescriptor, watches: [Int32])
      case alarm(WakeUpPipe, any DispatchSourceTimer)
    }

    // DispatchSourceTimer is safe to cancel from any thread.
    nonisolated(unsafe) private let source: Source

    /// Watches these folders, but not their subfolders; also whether `root` is removed.
    package init(folders: [Bytes], removalOf root: Bytes? = nil) throws(Failure) {
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
        // Closing an inotify descriptor with active watches blocks for an RCU grace period on
        // Linux, which adds milliseconds to every `wait`.
        for watch in watches { inotify_rm_watch(events.raw, watch) }
      case .alarm(_, let timer): timer.cancel()
      }
    }

    /// Becomes readable after a change; for ``waitForInput(on:timeoutMilliseconds:)``.
    package var descriptor: Int32 {
      switch source {
      case .events(let events, _): events.raw
      case .alarm(let pipe, _): pipe.descriptor
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
      case .alarm(let pipe, _): pipe.drain()
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
      // While a process has a file below it open, a removed folder exists without a name, and its own
      // watch reports nothing. The folder above it may be unreadable: then this is not noticed.
      if let above = root?.appending(path: Bytes("..")) {
        let watch = above.withCString {
          inotify_add_watch(events.raw, $0, UInt32(IN_DELETE | IN_MOVED_FROM))
        }
        if watch >= 0 { watches.append(watch) }
      }
      return .events(events, watches: watches)
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

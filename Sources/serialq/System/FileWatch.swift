#if os(Linux)
  import Dispatch

  /// Wakes when files in a folder are made, grow, are replaced or go: `inotify(7)`.
  ///
  /// Says only that something happened: the reader looks for itself what, so a lost or doubled
  /// event does no harm.
  ///
  /// No polling, but where the system refuses: of inotify a user has 128 at once, and no job must
  /// stay undone, and no `wait` fail, because others wait too. Whoever comes then is woken ten times
  /// a second.
  package final class FileWatch: Sendable {
    private enum Source {
      case events(FileDescriptor, watches: [Int32])
      case alarm(WakeUpPipe, any DispatchSourceTimer)
    }

    // A timer can be cancelled by any thread.
    nonisolated(unsafe) private let source: Source

    /// Watches these folders, not what is in folders inside them.
    package init(folders: [Bytes]) throws(SystemError) {
      do {
        source = try Self.events(folders)
      } catch  where error.code == EMFILE || error.code == ENOSPC {
        // A process that has no descriptor left fails here once more, and is told so.
        source = try Self.alarm()
      }
    }

    deinit {
      switch source {
      case .events(let events, let watches):
        // Else closing takes milliseconds, and so would the end of every `wait`: with watches left, Linux
        // has it wait until all its processors have let go of them.
        for watch in watches { inotify_rm_watch(events.raw, watch) }
      case .alarm(_, let timer): timer.cancel()
      }
    }

    /// Has input when something happened; for ``waitForInput(on:timeoutMilliseconds:)``.
    package var descriptor: Int32 {
      switch source {
      case .events(let events, _): events.raw
      case .alarm(let pipe, _): pipe.descriptor
      }
    }

    /// Takes what has been reported, so that the next wait sleeps; called before looking at the
    /// files, so that a change made while looking wakes again.
    package func drain() {
      switch source {
      case .events(let events, _):
        withUnsafeTemporaryAllocation(byteCount: 4096, alignment: 8) { buffer in
          while read(events.raw, buffer.baseAddress, buffer.count) > 0 || errno == EINTR {}
        }
      case .alarm(let pipe, _): pipe.drain()
      }
    }

    private static func events(_ folders: [Bytes]) throws(SystemError) -> Source {
      let flags = Int32(IN_CLOEXEC) | Int32(IN_NONBLOCK)
      let events = FileDescriptor(owning: try retrying("inotify_init1") { inotify_init1(flags) })
      let mask = UInt32(IN_MODIFY | IN_CREATE | IN_MOVED_TO | IN_DELETE)
      let watches = try folders.map { (folder) throws(SystemError) in
        try folder.withCPath { path in
          Result { () throws(SystemError) in
            try retrying("inotify_add_watch") { inotify_add_watch(events.raw, path, mask) }
          }
        }.get()
      }
      return .events(events, watches: watches)
    }

    private static func alarm() throws(SystemError) -> Source {
      let pipe = try WakeUpPipe()
      let timer = DispatchSource.makeTimerSource()
      timer.schedule(deadline: .now(), repeating: .milliseconds(100), leeway: .milliseconds(20))
      timer.setEventHandler { pipe.wake() }
      timer.activate()
      return .alarm(pipe, timer)
    }
  }
#endif

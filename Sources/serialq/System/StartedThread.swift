/// A thread of this process.
///
/// Not from Dispatch, which waits, on the caller's thread, for one that the system denies.
package struct StartedThread: Sendable {
  #if os(Linux)
    private let id: pthread_t
  #else
    // Valid until ``join()``: a copy of the pointer names the same thread.
    nonisolated(unsafe) private let id: pthread_t
  #endif

  /// Starts a thread that does `work`, by `pthread_create(3)`; call ``detach()`` or ``join()``.
  ///
  /// It receives no signals, which are left to the threads that await them.
  package init(_ work: @escaping @Sendable () -> Void) throws(Failure) {
    #if os(Linux)
      var id = pthread_t()
    #else
      var id: pthread_t?
    #endif
    let own = Unmanaged.passRetained(Work(work))
    var all = sigset_t()
    sigfillset(&all)
    var before = sigset_t()
    pthread_sigmask(SIG_SETMASK, &all, &before)
    let error = pthread_create(&id, nil, { Work.perform($0) }, own.toOpaque())
    pthread_sigmask(SIG_SETMASK, &before, nil)
    #if os(Linux)
      let started: pthread_t? = id
    #else
      let started = id
    #endif
    guard error == 0, let started else {
      own.release()
      throw Failure("pthread_create", error, "starting a thread")
    }
    self.id = started
  }

  /// Leaves the thread to itself.
  package func detach() { pthread_detach(id) }

  /// Waits for the end of the thread.
  package func join() { pthread_join(id, nil) }

  /// Sends a signal to this thread alone, by `pthread_kill(3)`.
  func send(_ signal: Int32) { pthread_kill(id, signal) }

  /// Fails unless this many threads can be started.
  ///
  /// What Dispatch serves would wait forever for one.
  package static func require(_ count: Int) throws(Failure) {
    let end = try WakeUpPipe()
    var threads: [StartedThread] = []
    defer {
      end.wake()
      for thread in threads { thread.join() }
    }
    // All of them exist at the same time.
    for _ in 0..<count {
      threads.append(
        try StartedThread { _ = try? waitForInput(on: [end.descriptor], until: nil) })
    }
  }
}

private final class Work: Sendable {
  private let body: @Sendable () -> Void

  init(_ body: @escaping @Sendable () -> Void) {
    self.body = body
  }

  static func perform(_ context: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    if let context { Unmanaged<Work>.fromOpaque(context).takeRetainedValue().body() }
    return nil
  }
}

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// A value behind a mutex: the only lock of the package.
///
/// A pthread mutex, because an uncontended one costs half of what `Synchronization.Mutex` does on
/// Linux and because the thread sanitizer understands it there.
///
/// No handler, `deinit` or callback of a user may run inside `withLock`: whatever has to be
/// called or released is handed out of the closure and dealt with after it.
package final class Locked<State>: @unchecked Sendable {
  // Sendable because `state` is reached through `withLock` only, one thread at a time. The
  // pointers spare the runtime exclusivity check that a stored property of a class would cost.
  private let mutex: UnsafeMutablePointer<pthread_mutex_t>
  private let state: UnsafeMutablePointer<State>

  package init(_ initial: State) {
    mutex = .allocate(capacity: 1)
    mutex.initialize(to: pthread_mutex_t())
    let result = pthread_mutex_init(mutex, nil)
    precondition(result == 0, "pthread_mutex_init failed with error \(result)")
    state = .allocate(capacity: 1)
    state.initialize(to: initial)
  }

  deinit {
    state.deinitialize(count: 1)
    state.deallocate()
    pthread_mutex_destroy(mutex)
    mutex.deinitialize(count: 1)
    mutex.deallocate()
  }

  @inline(__always)
  package func withLock<Result, Failure: Error>(
    _ body: (inout State) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    if pthread_mutex_trylock(mutex) != 0 { lockContended() }
    defer { pthread_mutex_unlock(mutex) }
    return try body(&state.pointee)
  }

  /// Yields for about as long as a sleep and a wake-up take, and then sleeps.
  ///
  /// The lock is held for nanoseconds, so it is free when this thread is back from the scheduler, and
  /// its owner has used it many times meanwhile without a transfer between processors. A thread that
  /// was preempted with the lock held gets its processor from the yield.
  @inline(never)
  private func lockContended() {
    for yields in [8, 16, 32, 64] {
      for _ in 0..<yields { sched_yield() }
      if pthread_mutex_trylock(mutex) == 0 { return }
    }
    let result = pthread_mutex_lock(mutex)
    precondition(result == 0, "pthread_mutex_lock failed with error \(result)")
  }
}

/// Which thread this is, so that a thread can be told that it waits for itself.
struct ThreadIdentity: Equatable {
  private let thread = pthread_self()

  static func == (one: ThreadIdentity, other: ThreadIdentity) -> Bool {
    pthread_equal(one.thread, other.thread) != 0
  }
}

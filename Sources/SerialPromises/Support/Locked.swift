#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// A value protected by a mutex: the only lock in the package.
///
/// Uses a pthread mutex: without contention it costs half as much as `Synchronization.Mutex` on
/// Linux, and the thread sanitizer supports it there.
///
/// `withLock` must not run a user's handler, `deinit` or callback. Return such values from the
/// closure, and call or release them after the lock is released.
package final class Locked<State>: @unchecked Sendable {
  // Sendable because `state` is accessed only in `withLock`, by one thread at a time. The pointers
  // avoid the runtime exclusivity check of a class's stored property.
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

  /// Yields for about as long as a sleep and a wake-up take, and then blocks.
  ///
  /// The critical sections take nanoseconds, so the lock is usually free when this thread is
  /// scheduled again. Meanwhile its owner has used it many times without a transfer between
  /// processors. A preempted owner gets the processor from the yield.
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

/// The identity of a thread, used to detect a thread that waits for itself.
struct ThreadIdentity: Equatable {
  private let thread = pthread_self()

  static func == (one: ThreadIdentity, other: ThreadIdentity) -> Bool {
    pthread_equal(one.thread, other.thread) != 0
  }
}

/// An optional object for each thread.
struct ThreadLocal<Object: AnyObject>: Sendable {
  private let key: pthread_key_t

  init() {
    var key = pthread_key_t()
    let result = pthread_key_create(&key, nil)
    precondition(result == 0, "pthread_key_create failed with error \(result)")
    self.key = key
  }

  /// The calling thread's object.
  ///
  /// Does not retain it.
  var current: Object? {
    pthread_getspecific(key).map { Unmanaged<Object>.fromOpaque($0).takeUnretainedValue() }
  }

  /// Sets `object` as the calling thread's object while `body` runs.
  func with(_ object: Object, _ body: () -> Void) {
    pthread_setspecific(key, Unmanaged.passUnretained(object).toOpaque())
    body()
    pthread_setspecific(key, nil)
  }
}

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

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

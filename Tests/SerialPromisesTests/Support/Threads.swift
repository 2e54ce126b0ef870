import Foundation
import Testing

/// Runs the body on new threads, at the same time, and returns when all have ended.
func onThreads(
  _ count: Int, stackSize: Int? = nil, _ body: @escaping @Sendable (_ index: Int) -> Void
) {
  let threads = (0..<count).map { index in
    start(stackSize: stackSize) { body(index) }
  }
  for thread in threads { pthread_join(thread, nil) }
}

/// Runs the body on a new thread, and returns when it has ended.
func onThread(stackSize: Int? = nil, _ body: @escaping @Sendable () -> Void) {
  onThreads(1, stackSize: stackSize) { _ in body() }
}

/// Runs the body on a new thread, and does not wait for it.
func onOwnThread(_ body: @escaping @Sendable () -> Void) {
  pthread_detach(start(stackSize: nil, body))
}

/// Runs the body on a new thread, and returns its result.
///
/// For what computes for long or blocks: the handlers and tasks of all other tests share a few
/// threads, as many as there are processors.
func onNewThread<Value>(_ body: @escaping @Sendable () -> sending Value) async -> sending Value {
  await withCheckedContinuation { continuation in
    onOwnThread { continuation.resume(returning: body()) }
  }
}

/// The identity of the current thread.
func currentThread() -> UInt {
  #if os(Linux)
    pthread_self()
  #else
    UInt(bitPattern: pthread_self())
  #endif
}

private final class Body: Sendable {
  let call: @Sendable () -> Void
  init(_ call: @escaping @Sendable () -> Void) { self.call = call }
}

private func start(stackSize: Int?, _ call: @escaping @Sendable () -> Void) -> pthread_t {
  var attributes = pthread_attr_t()
  pthread_attr_init(&attributes)
  defer { pthread_attr_destroy(&attributes) }
  if let stackSize {
    precondition(pthread_attr_setstacksize(&attributes, stackSize) == 0, "a valid stack size")
  }
  let body = Unmanaged.passRetained(Body(call)).toOpaque()
  #if os(Linux)
    var thread = pthread_t()
    let result = pthread_create(&thread, &attributes, { run($0) }, body)
    precondition(result == 0, "pthread_create failed with error \(result)")
    return thread
  #else
    var thread: pthread_t?
    let result = pthread_create(&thread, &attributes, { run($0) }, body)
    guard result == 0, let thread else { preconditionFailure("pthread_create: error \(result)") }
    return thread
  #endif
}

private func run(_ body: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
  if let body { Unmanaged<Body>.fromOpaque(body).takeRetainedValue().call() }
  return nil
}

/// Makes this process, which is about to crash, end at once.
///
/// Otherwise the runtime starts a program that analyzes the crash. Under a sanitizer it may hang,
/// and it keeps the pipes open that the test reads to their end.
func endWithoutBacktrace() {
  for number in [SIGILL, SIGTRAP, SIGABRT, SIGSEGV] { signal(number, SIG_DFL) }
}

/// Ends this process with a signal if it still runs after this time, whether it computes or waits.
///
/// Counts from the call: the time limit of a test counts from when the test is due, also while
/// others keep the threads.
func endAfter(seconds: UInt32) { alarm(seconds) }

/// What a process that crashed printed on standard error.
func message(_ result: ExitTest.Result?) -> String {
  String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
}

import Dispatch
import Foundation

@testable import SerialPromises

/// Opens once; whoever comes before waits, as a task or as a thread.
final class Gate: Sendable {
  private struct State {
    var isOpen = false
    var waiting: [@Sendable () -> Void] = []
  }

  private let state = Locked(State())

  var isOpen: Bool { state.withLock { $0.isOpen } }

  func open() {
    let waiting = state.withLock { state in
      state.isOpen = true
      defer { state.waiting = [] }
      return state.waiting
    }
    for wake in waiting { wake() }
  }

  func passed() async {
    await withCheckedContinuation { continuation in
      whenOpen { continuation.resume() }
    }
  }

  /// Blocks the thread; not for the threads that tasks run on.
  func block() {
    let semaphore = DispatchSemaphore(value: 0)
    whenOpen { semaphore.signal() }
    semaphore.wait()
  }

  private func whenOpen(_ wake: @escaping @Sendable () -> Void) {
    let isOpen = state.withLock { state in
      if !state.isOpen { state.waiting.append(wake) }
      return state.isOpen
    }
    if isOpen { wake() }
  }
}

/// What happened, in order.
final class Log<Element: Sendable>: Sendable {
  private let elements = Locked<[Element]>([])

  var all: [Element] { elements.withLock { $0 } }
  var count: Int { elements.withLock { $0.count } }
  var last: Element? { elements.withLock { $0.last } }

  func append(_ element: Element) {
    elements.withLock { $0.append(element) }
  }

  func removeAll() -> [Element] {
    elements.withLock { elements in
      defer { elements = [] }
      return elements
    }
  }
}

/// Keeps the diagnostics that a manager reports.
final class Reports: Sendable {
  private let log = Log<Diagnostic>()

  var all: [Diagnostic] { log.all }
  var place: DiagnosticHandler { DiagnosticHandler { [log] in log.append($0) } }
}

/// Tells when its last reference goes away, as something that a user's step captures may.
final class Sentinel: Sendable {
  private let whenGone: @Sendable () -> Void

  init(_ whenGone: @escaping @Sendable () -> Void = {}) {
    self.whenGone = whenGone
  }

  deinit { whenGone() }

  func touch() {}
}

/// A `then`, taken out of a handler.
final class Taken: Sendable {
  private let then = Locked<Then?>(nil)
  /// Opens when there is one.
  let gate = Gate()

  var handler: Promisable.Handler {
    { [self] then in
      self.then.withLock { $0 = then }
      gate.open()
    }
  }

  /// Calls it on a thread of its own, which runs the next steps: a test is a task, and in a task they
  /// would run elsewhere.
  func call(_ error: (any Error)? = nil) {
    guard let then = then.withLock({ $0 }) else { return }
    onThread { then(error) }
  }

  /// Lets go of it, called or not.
  func drop() {
    let last = then.withLock { $0.take() }
    withExtendedLifetime(last) {}
  }

  func with<Result>(_ body: (Then) -> Result) -> Result? {
    then.withLock { $0 }.map(body)
  }
}

func text(_ outcome: StepOutcome) -> String {
  switch outcome {
  case .succeeded: "succeeded"
  case .failed(let error): "failed \(error)"
  case .cancelled: "cancelled"
  }
}

func text(_ state: StepHandle.State) -> String {
  switch state {
  case .waiting: "waiting"
  case .running: "running"
  case .over(let outcome): text(outcome)
  }
}

extension PromiseManager {
  /// As `waitUntilIdle`, for asynchronous tests of managers that are idle, where nothing blocks.
  func blockUntilIdle(timeout: Duration? = nil) throws {
    try waitUntilIdle(timeout: timeout)
  }

  /// Resumes the manager and waits until nothing can run, for steps that call `then` at once.
  ///
  /// A turn may end by time, and the rest run on another thread. Yields, because nothing is notified of a
  /// queue that comes to rest while steps wait in it; on a thread of its own, because one of the pool that
  /// is busy, and not blocked, gets no other in its place.
  func resumeAndWait() {
    onThread { [self] in
      resume()
      while order.withLock({ $0.phase != .resting }) { sched_yield() }
    }
  }
}

import Dispatch
import Foundation

@testable import SerialPromises

/// Opens once.
///
/// Tasks and threads that arrive earlier wait.
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

  /// Blocks the thread; not for threads of the cooperative pool.
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

/// A log of events, in order.
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

extension Log {
  /// A handler of a step that appends the element and ends.
  func appending(_ element: Element) -> Promisable.Handler {
    { [self] then in
      append(element)
      then()
    }
  }
}

extension Locked<Int> {
  /// Counts one more.
  ///
  /// - Returns: The new number.
  func next() -> Int {
    withLock { number in
      number += 1
      return number
    }
  }
}

/// Stores the diagnostics that a manager reports.
final class Reports: Sendable {
  private let log = Log<Diagnostic>()

  var all: [Diagnostic] { log.all }
  var place: DiagnosticHandler { DiagnosticHandler { [log] in log.append($0) } }
}

/// Calls a closure when its last reference is released; for a user's object that a step captures.
final class Sentinel: Sendable {
  private let whenGone: @Sendable () -> Void

  init(_ whenGone: @escaping @Sendable () -> Void = {}) {
    self.whenGone = whenGone
  }

  deinit { whenGone() }

  func touch() {}
}

/// A `then` that was taken out of a handler.
final class Taken: Sendable {
  private let then = Locked<Then?>(nil)
  /// Opens when the `then` is available.
  let gate = Gate()

  var handler: Promisable.Handler {
    { [self] then in
      self.then.withLock { $0 = then }
      gate.open()
    }
  }

  /// Calls `then` on its own thread, which runs the next steps.
  ///
  /// A test is a task, where the steps would run elsewhere.
  func call(_ error: (any Error)? = nil) {
    guard let then = then.withLock({ $0 }) else { return }
    onThread { then(error) }
  }

  /// Releases `then`, called or not.
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

func text(_ event: StepEvent) -> String {
  switch event {
  case .added(let step): "added \(step.id)"
  case .started(let step): "started \(step.id)"
  case .finished(let step, let outcome, _): "finished \(step.id) \(outcome.stage)"
  case .idle: "idle"
  }
}

extension PromiseManager {
  /// Like `waitUntilIdle`, for asynchronous tests of idle managers, where the call does not block.
  func blockUntilIdle(timeout: Duration? = nil) throws {
    try waitUntilIdle(timeout: timeout)
  }

  /// Resumes the manager and waits until no step can run, for steps that call `then` at once.
  ///
  /// A turn may end by time, and continue on another thread. Yields, because a queue that comes to
  /// rest with waiting steps sends no notification. Runs on its own thread, because a busy thread
  /// of the pool, unlike a blocked one, is not replaced.
  func resumeAndWait() {
    onThread { [self] in
      resume()
      while !order.withLock({ $0.isResting }) { sched_yield() }
    }
  }
}

extension SerialOrder {
  /// Whether no step runs, and no thread is to start one.
  fileprivate var isResting: Bool { if case .resting = phase { true } else { false } }
}

import Dispatch
import TestSupport
import Testing

@testable import SerialPromises

/// Random operations on many threads, with a final check of the counts.
struct StormTests {
  struct Setting: Sendable, CustomTestStringConvertible {
    let policy: FailurePolicy
    let isOnQueue: Bool
    let isWatched: Bool

    var testDescription: String { "\(policy), on a queue: \(isOnQueue), watched: \(isWatched)" }

    static let all = [
      Setting(policy: .continue, isOnQueue: false, isWatched: false),
      Setting(policy: .stop, isOnQueue: false, isWatched: true),
      Setting(policy: .cancelRest, isOnQueue: true, isWatched: false),
    ]
  }

  /// The number of runs of each step's handler, and of concurrent ones.
  private final class Books: @unchecked Sendable {
    let ran: UnsafeMutablePointer<Int>
    let count: Int
    var inside = 0
    var overlaps = 0

    init(_ count: Int) {
      self.count = count
      ran = .allocate(capacity: count)
      ran.initialize(repeating: 0, count: count)
    }

    deinit { ran.deallocate() }
  }

  private typealias Added = (number: Int, way: Int, handle: StepHandle)

  /// The shared state of a storm's steps.
  private struct Weather: Sendable {
    let books: Books
    let clock = ManualClock()
    /// Thens that are called only at the end, when it is too late.
    let kept = Locked<[Then]>([])
    private let later = DispatchQueue(label: "later", attributes: .concurrent)

    init(_ books: Books) { self.books = books }

    func step(_ number: Int, _ way: Int) -> Step {
      let step = Step { [books, kept, later] then in
        books.inside += 1
        if books.inside != 1 { books.overlaps += 1 }
        books.ran[number] += 1
        books.inside -= 1
        switch way {
        case 0..<65: then()
        case 65..<80, 90..<97: later.async { then() }
        case 80..<85: break
        case 85..<90: later.async { then(CancellationError()) }
        default: kept.withLock { $0.append(then) }
        }
      }
      return switch way {
      case 88..<92: step.timeout(.seconds(1), clock: clock)
      case 92...: step.timeout(.seconds(1), abandoning: true, clock: clock)
      default: step
      }
    }
  }

  private let threads = 8

  // Fails if any two of add, cancel, pause, resume, cancelAll, a timeout, a delay, a retry, then
  // and a dropped then interfere: a step is lost, run twice, run after its cancellation, or never
  // ends.
  @Test(
    "in a storm of 8 threads every step ends, and runs at most once", .shows(Managing.storms),
    arguments: Setting.all)
  func storm(_ setting: Setting) async {
    let perThread = isLong ? 50_000 : 2_000
    tally(threads * perThread)
    let manager = PromiseManager(
      on: setting.isOnQueue ? DispatchQueue(label: "storm") : nil, onFailure: setting.policy,
      diagnostics: .silent)
    let events = setting.isWatched ? manager.events(bufferingNewest: .max) : nil
    let books = Books(threads * perThread)
    let weather = Weather(books)
    let handles = Locked<[Added]>([])
    onThreads(threads) { thread in
      var random = SeededGenerator(seed: UInt64(thread + 1))
      var mine: [Added] = []
      for index in 0..<perThread {
        let number = thread * perThread + index
        let way = Int.random(in: 0..<100, using: &random)
        mine.append((number, way, manager.add(weather.step(number, way))))
        switch Int.random(in: 0..<100, using: &random) {
        case 0..<15: mine.randomElement(using: &random)?.handle.cancel()
        case 15..<20: manager.pause()
        case 20..<30: manager.resume()
        case 30..<31: manager.cancelAll()
        case 31..<40: weather.clock.advance(by: .milliseconds(500))
        default: break
        }
      }
      handles.withLock { [mine] in $0 += mine }
    }
    // A failure may stop the manager again, and a step may wait for its time limit.
    while !manager.order.withLock({ $0.isIdle }) {
      manager.resume()
      weather.clock.advance(by: .seconds(1))
      await Task.yield()
    }
    for then in weather.kept.withLock({ $0 }) { then() }
    balance(books, handles.withLock { $0 })
    if let events { await expectAccounts(events, of: manager, steps: books.count) }
  }

  private func balance(_ books: Books, _ handles: [Added]) {
    #expect(handles.count == books.count)
    #expect(books.overlaps == 0)
    #expect(Set(handles.map(\.handle.id)).count == books.count)
    var wrong: [String] = []
    for (number, way, handle) in handles {
      switch (handle.state, books.ran[number]) {
      case (.over(.succeeded), 1), (.over(.failed), 1): break
      // A step that was asked to stop while it ran, and confirmed it, is canceled as well.
      case (.over(.cancelled), 0...1): break
      case (let state, let times): wrong.append("way \(way) ran \(times) times and is \(state)")
      }
    }
    #expect(wrong.isEmpty, "\(wrong.count): \(wrong.prefix(3))")
  }

  /// Every added step is canceled, or started and finished; no two run at the same time.
  private func expectAccounts(
    _ events: AsyncStream<StepEvent>, of manager: PromiseManager, steps: Int
  ) async {
    let marker = manager.add { then in then() }
    // The manager may have become idle while it was paused.
    manager.resume()
    var (added, cancelled, started, finished) = (0, 0, 0, 0)
    for await event in events {
      switch event {
      case .added: added += 1
      case .cancelled: cancelled += 1
      case .started:
        #expect(started == finished)
        started += 1
      case .finished: finished += 1
      case .idle: break
      }
      if case .finished(let step, _, _) = event, step.id == marker.id { break }
    }
    #expect(added == steps + 1)
    #expect(cancelled + started == added)
    #expect(started == finished)
  }
}

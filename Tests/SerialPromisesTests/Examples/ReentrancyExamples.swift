import TestSupport
import Testing

@testable import SerialPromises

private let fetches = Log<String>()
private let gates = Locked<[Gate]>([])

/// Waits until the test opens its gate.
private func fetch() async throws -> String {
  fetches.append("fetch")
  let gate = Gate()
  gates.withLock { $0.append(gate) }
  await gate.passed()
  return "page \(fetches.count)"
}

/// The examples of the article on reentrancy.
@Suite(.serialized)
struct ReentrancyExamples {
  actor Loader {
    private var page: String?

    func load() async throws -> String {
      if let page { return page }
      // Meanwhile, another call finds no page, and fetches it too.
      let new = try await fetch()
      page = new
      return new
    }
  }

  actor Pages {
    private let turns = PromiseManager()
    private var page: String?

    func load() async throws -> String {
      try await turns.withTurn {
        // No other `load` is in here, however often this one awaits.
        if let page { return page }
        let new = try await fetch()
        page = new
        return new
      }
    }
  }

  actor Draft {
    private let turns = PromiseManager()
    private var text = ""

    func append(_ more: String) async throws {
      try await turns.withTurn { try await write(text + more) }
    }

    func clear() async throws {
      try await turns.withTurn { try await write("") }
    }

    // Call only inside a turn.
    private func write(_ new: String) async throws {
      try await save(new)
      text = new
    }
  }

  private func fetching(_ count: Int) async {
    while gates.withLock({ $0.count }) < count { await Task.yield() }
  }

  private func proceed() {
    for gate in gates.withLock({ $0 }) { gate.open() }
  }

  private func begin() {
    _ = fetches.removeAll()
    gates.withLock { $0 = [] }
  }

  // Fails if the article is wrong about actors: a turn is not needed then.
  @Test("two calls of an actor's method both fetch the page")
  func reentrant() async throws {
    begin()
    let loader = Loader()
    async let first = loader.load()
    async let second = loader.load()
    await fetching(2)
    proceed()
    _ = try await [first, second]
    #expect(fetches.count == 2)
  }

  // Fails if the second call enters while the first one awaits.
  @Test(
    "with a turn, the second call waits for the first one, and finds its page",
    .shows(Managing.callersTurn))
  func inTurn() async throws {
    begin()
    let pages = Pages()
    async let first = pages.load()
    await fetching(1)
    async let second = pages.load()
    while await !pages.waits() { await Task.yield() }
    proceed()
    #expect(try await [first, second] == ["page 1", "page 1"])
    #expect(fetches.count == 1)
  }

  // Hangs if the functions without a turn take one.
  @Test("two methods with a turn share a function without one")
  func shared() async throws {
    let draft = Draft()
    try await draft.append("a")
    try await draft.append("b")
    #expect(await draft.saved == "ab")
    try await draft.clear()
    #expect(await draft.saved == "")
  }

  // Fails if a turn is lost. `PriorityTests` shows that the turn in front is raised.
  @Test("turns of tasks with different priorities")
  func priorities() async throws {
    let log = Log<String>()
    @Sendable func save(_ text: String) async throws { log.append(text) }
    @Sendable func fetch() async throws -> String { "page" }
    let turns = PromiseManager()
    let low = Task(priority: .background) {
      try await turns.withTurn { try await save("draft") }
    }
    // If it waits, the turn of the other task runs at this priority until it ends.
    let high = Task(priority: .high) {
      try await turns.withTurn { try await fetch() }
    }
    #expect(try await high.value == "page")
    try await low.value
    #expect(log.all == ["draft"])
  }

  // Fails if a member of the managers of keys is wrong.
  @Test("a manager for each key")
  func keys() async throws {
    let (begun, proceed) = (Gate(), Gate())
    func fetch() async throws -> Int {
      begun.open()
      await proceed.passed()
      return 3
    }
    let download: @Sendable (@escaping @Sendable () -> Void) -> Void = { $0() }
    proceed.open()
    let accounts = KeyedPromiseManagers<String>()
    let balance = try await accounts["alice"].withTurn { try await fetch() }
    await accounts.idle()
    #expect(balance == 3)
    let alice = accounts["alice"]
    let names = accounts.keys.sorted().joined(separator: ", ")
    let backlog = "\(accounts.waitingCount) to go"
    #expect(names == "alice" && backlog == "0 to go" && alice.isIdle)
    accounts["alice"].add { then in download { then() } }
    await accounts.idle()
    accounts.cancelAll()
    await accounts.idle()  // the running steps have ended
    accounts.close()
    await accounts.idle()
    let hosts = KeyedPromiseManagers<String> { _ in
      PromiseManager(rate: Rate(2, per: .seconds(1)))
    }
    #expect(hosts.keys.isEmpty)
  }
}

extension ReentrancyExamples.Pages {
  fileprivate func waits() -> Bool { turns.waitingCount > 0 }
}

extension ReentrancyExamples.Draft {
  fileprivate func save(_ new: String) async throws { await Task.yield() }

  fileprivate var saved: String { text }
}

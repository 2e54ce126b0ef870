import TestSupport
import Testing

@testable import SerialPromises

/// A randomized search for violations of the rules for managers, steps and promises together.
///
/// `SERIALQ_SEARCH=10000000 swift test --filter SearchTests` executes this many operations.
/// `SERIALQ_SEED=0x… swift test --filter SearchTests` prints the scenario of a reported failure,
/// and replays it 200 times. `SERIALQ_CENSUS=1` continues after failures and counts them;
/// `SERIALQ_KIND=leak` searches for one kind of violation only; `SERIALQ_PATIENCE=2` reports a hang
/// after two seconds instead of sixty.
///
/// Beside the others: the search waits for half its time, and would begin when all others have
/// ended.
@Suite(.beside) struct SearchTests {
  // To make it fail, end a promise's step as soon as the promise is settled: in `StepEnd.react`,
  // without waiting for the work. A canceled promise's work then overlaps with the next step.
  @Test(
    "random scenarios of steps, promises, cancellations and drops violate no rule",
    .shows(Managing.neverTwo, Managing.order, Managing.cancelWaiting, Managing.storms))
  func search() async {
    let search = await onNewThread {
      var search = ScenarioSearch(.current)
      search.run()
      return search
    }
    tally(search.operations)
    if let failure = search.failures.first { Issue.record("\(failure)") }
    if search.settings.isCensus { print(search.census) }
  }

  // To make it fail, draw a random value in `ScenarioGenerator` from the system generator.
  @Test("a seed generates the same scenario each time", .shows(Managing.storms))
  func seeds() {
    for seed in 0..<200 as Range<UInt64> {
      let (one, other) = (
        ScenarioGenerator.scenario(seed: seed), ScenarioGenerator.scenario(seed: seed)
      )
      #expect("\(one)" == "\(other)")
      #expect(one.size > 0)
    }
  }

  // MARK: The oracle

  /// Events of four closure steps: see `Scenario.init(ofClosures:limit:)`.
  struct Case: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let kinds: Set<Violation.Kind>
    var actions: [Action] = []
    let events: @Sendable (inout Books) -> Void

    init(
      _ description: String, _ kinds: Set<Violation.Kind>, _ actions: [Action] = [],
      _ events: @escaping @Sendable (inout Books) -> Void
    ) {
      testDescription = description
      self.kinds = kinds
      self.actions = actions
      self.events = events
    }

    static let all =
      others
      + waits.map { what, step, wait, isReported in
        let kinds: Set<Violation.Kind> = isReported ? [.priority] : []
        return Case("at a lower priority than a task that waits for \(what)", kinds) {
          $0.runs(at: 21, before: [(step, wait, 25)], pending: [1, 2, 3, 4])
        }
      }

    /// What a task waits for, and whether that includes the end of step 5's work.
    private static let waits: [(what: String, step: Int, wait: Books.Wait, isReported: Bool)] = [
      ("the work", 5, .end, true),
      ("the outcome of its step", 5, .outcome, true),
      ("its turn", 6, .end, true),
      ("room", 0, .room, true),
      ("the manager", 0, .idle, true),
      ("all managers", 3, .allIdle, true),
      ("promises of which one is behind it", 3, .values([3, 1]), true),
      ("a promise that is settled", 0, .values([0]), false),
      ("a promise of two managers", 4, .values([4]), false),
      ("room in another manager", 3, .room, false),
      ("another manager", 3, .idle, false),
      ("an outcome in another manager", 3, .outcome, false),
      ("a promise in another manager", 3, .values([3]), false),
    ]

    private static let others = [
      Case("in turn", []) { $0.work(0, 1) },
      Case("at the same time", [.overlap]) { $0.begin(0, 1) },
      Case("at the same time after a grace period", [], [.cancelGrace(0)]) { $0.begin(0, 1) },
      Case("at the same time in a step of a second visit", [.overlap]) {
        $0.begin(0)
        $0.join(0)
        $0.leave(0, isOver: false, isRefused: false)
        $0.begin(1)
      },
      Case("in the wrong order", [.order]) { $0.work(1, 0) },
      Case("in another order after a move", [], [.move(1, .first)]) { $0.work(1, 0) },
      Case("a shared one in the turn of the other manager", []) { $0.begin(0, 2) },
      Case("a shared one during steps of both managers", [.overlap]) { $0.begin(0, 3, 2) },
      Case("failed and dropped, without a report", [.silence]) {
        $0.work(3)
        $0.audit(3, [], isUnread: true)
      },
      Case("failed and dropped, with a report", []) {
        $0.work(3)
        $0.audit(3, [.failure], isUnread: true)
      },
      Case("failed and dropped, with two reports", [.diagnostic]) {
        $0.audit(3, [.failure, .failure], isUnread: true)
      },
      Case("failed and read, with a report", [.diagnostic]) {
        $0.audit(3, [.failure], isUnread: false)
      },
      Case("succeeded, with a report of a failure", [.diagnostic]) {
        $0.audit(0, [.failure], isUnread: true)
      },
      Case("timed out without a limit", [.diagnostic]) {
        $0.audit(0, [.init(manager: 0, id: 1, isTimeout: true)], isUnread: false)
      },
      Case("twice", [.again]) { $0.work(0, 0) },
      Case("begun after the end of its step", [.late]) {
        $0.enter(0, isOver: true, isRefused: false, caller: nil)
      },
      Case("ended after the end of its step", [.late]) {
        $0.begin(0)
        $0.leave(0, isOver: true, isRefused: false)
      },
      Case("with the values of another caller", [.context]) {
        $0.enter(0, isOver: false, isRefused: false, caller: 1)
      },
      Case("begun on one key before it ended on the other, and all found idle", [.busy]) {
        $0.begin(0)
        let pauses = $0.pausesIfBusy
        $0.begin(3)
        $0.leave(0, isOver: false, isRefused: false)
        $0.foundIdle(since: pauses)
      },
      Case("begun on one key after it ended on the other, and all found idle", []) {
        $0.begin(0)
        let pauses = $0.pausesIfBusy
        $0.leave(0, isOver: false, isRefused: false)
        $0.begin(3)
        $0.foundIdle(since: pauses)
      },
      Case("not at all", [.lost]) { $0.ends(.succeeded) },
      Case("not at all though nothing canceled it", [.lost]) { $0.ends(.failed) },
      Case("canceled without a cause", [.uncaused, .lost]) { $0.ends(.cancelled, .cancelled) },
      Case("cancelled", [], [.cancel(0)]) { $0.ends(.cancelled, .cancelled) },
      Case("canceled by a sweep", [], [.cancelWaiting(0)]) { $0.ends(.cancelled, .cancelled) },
      Case("begun, and canceled by a sweep", [.uncaused], [.cancelWaiting(0)]) {
        $0.work(0)
        $0.ends(.cancelled, .cancelled)
      },
      Case("canceled, its promise pending", [.pending], [.cancel(0)]) { $0.isPending(0) },
      Case("canceled, its promise not", [.mismatch], [.cancel(0)]) {
        $0.ends(.cancelled, .succeeded)
      },
      Case("failed, its promise canceled", [.mismatch], [.cancel(0)]) {
        $0.ends(.failed, .cancelled)
      },
      Case("raised to the priority of the tasks that wait behind it", []) {
        $0.runs(at: 25, before: [(6, .end, 25), (0, .room, 21), (1, .idle, 9)])
      },
      Case("at a lower priority than a task that has had its turn", []) {
        $0.hasRun()
        $0.runs(at: 21, before: [(6, .end, 25)])
      },
      Case(
        "at a lower priority, after a grace period, than a task behind it", [], [.cancelGrace(5)]
      ) {
        $0.runs(at: 21, before: [(6, .end, 25)])
      },
      Case("at a lower priority than a task that waited for all managers before", []) {
        $0.raised($0.expect(3, "a task", .allIdle), to: 25)
        $0.runs(at: 21, before: [])
      },
      Case("two calls of one listener", [.notifiedAgain]) {
        let listener = $0.expect(0, "a listener")
        $0.notified(listener, .succeeded)
        $0.notified(listener, .succeeded)
      },
      Case("two listeners that disagree", [.disagreement]) {
        $0.notified($0.expect(0, "one"), .succeeded)
        $0.notified($0.expect(0, "another"), .cancelled)
      },
    ]
  }

  // To make it fail, let any rule in `Books` report nothing, or too much.
  @Test("the oracle reports each violation, and nothing else", arguments: Case.all)
  func oracle(_ example: Case) {
    let actions = [Action.add(0, isWatched: false), .add(1, isWatched: false)] + example.actions
    let scenario = Scenario(ofClosures: actions, limit: 1)
    var books = Books(scenario, Facts(scenario))
    example.events(&books)
    #expect(Set(books.violations.map(\.kind)) == example.kinds)
  }

  // The promises of refused steps are started anyway, and no object waits for them: they may run
  // when the world has dropped everything. To make it fail, let `World.clear` keep nothing of its
  // entries: the unordered work of refused steps then counts as that of accepted ones.
  @Test(
    "a cleared entry records whether its step was refused or had ended",
    arguments: [true, false])
  func dropped(isClosed: Bool) async {
    let actions =
      (isClosed ? [Action.close(0)] : []) + [.add(0, isWatched: false), .add(1, isWatched: false)]
    let world = World(Scenario(ofClosures: actions, limit: 2))
    for action in actions { world.act(action) }
    // No work if the step was refused.
    for step in 0...1 { _ = await world.entry(step).handle?.outcome }
    _ = world.clear()
    let visits = [1, 0].map { WorkPiece($0, world).enter() }
    for visit in visits { visit.leave() }
    let kinds = world.books.withLock { Set($0.violations.map(\.kind)) }
    #expect(kinds == (isClosed ? [] : [.late, .overlap]))
  }
}

extension Scenario {
  /// One thread, and two closure steps of each of two managers, each of which may run `limit`
  /// times.
  ///
  /// The third is a step of both managers. The fourth fails. The last two steps are calls of `run`.
  fileprivate init(ofClosures actions: [Action], limit: Int) {
    let numbers = [0, 1, 2, 3]
    let manager = ManagerPlan(policy: .continue, isOnQueue: false, isOfKey: true)
    self.init(
      seed: 0, managers: [manager, manager],
      steps: numbers.map { piece in
        let closure = ClosurePlan(piece: piece, ending: piece == 3 ? .fails : .now)
        return StepPlan(
          manager: piece / 2, lane: 0, form: .closure(closure, Modifiers()), canFail: piece == 3)
      } + [StepPlan(manager: 0, lane: 0, form: .shared(2))]
        + [4, 5].map { piece in
          let work = AsyncPlan(
            piece: piece, yields: 0, isHeld: true, heedsCancel: false, fails: false)
          return StepPlan(manager: 0, lane: 0, form: .run(work))
        },
      pieces: (numbers + [5, 6]).map { step in
        PiecePlan(
          step: step, limit: limit, isCounted: true, isMandatory: true, isCleanup: false,
          kind: "closure")
      },
      lanes: [.init(isTask: false, actions: actions)])
  }
}

extension Books.Report {
  fileprivate static let failure = Self(manager: 1, id: 1, isTimeout: false)
}

extension Books {
  fileprivate mutating func begin(_ pieces: Int...) {
    for piece in pieces { enter(piece, isOver: false, isRefused: false, caller: nil) }
  }

  fileprivate mutating func ends(_ outcome: Ending, _ promise: Ending? = nil) {
    audit(0, outcome, promise: promise)
  }

  /// The call of `run` of step 6 ends.
  fileprivate mutating func hasRun() {
    enter(5, isOver: false, isRefused: false, caller: 6)
    leave(5, isOver: false, isRefused: false)
  }

  /// The work of step 5 runs with a priority, and tasks of others wait.
  fileprivate mutating func runs(
    at priority: UInt8, before waiting: [(step: Int, wait: Wait, priority: UInt8)],
    pending: Set<Int> = []
  ) {
    enter(4, isOver: false, isRefused: false, caller: 5)
    let number = holds(4)
    hasPriority(number, priority)
    for (step, wait, priority) in waiting {
      let listener = expect(step, "a task", wait)
      raised(listener, to: priority)
    }
    if let text = underrated(pending: pending) { report(.priority, text) }
  }

  fileprivate mutating func work(_ pieces: Int...) {
    for piece in pieces {
      begin(piece)
      leave(piece, isOver: false, isRefused: false)
    }
  }
}

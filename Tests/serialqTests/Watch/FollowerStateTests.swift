@testable import SerialqQueue
@testable import SerialqRunner
import SerialqSystem
@testable import SerialqWatch
import Testing

@Suite struct FollowerStateTests {
  private typealias Action = FollowerState.Action

  /// A queue and its follower.
  private struct Following {
    private(set) var queue = Queue()
    private(set) var state: FollowerState
    var succeeded: Int { state.counts[.succeeded] ?? 0 }

    /// Starts following after these.
    init(
      _ subject: Follower.Subject = .queue, _ style: Follower.OutputStyle = .init(),
      after acts: [Act] = []
    ) {
      queue.perform(acts)
      state = FollowerState(queue, named: "default", subject, style)
    }

    var isAtEnd: Bool { state.isAtEnd(queue) }

    /// The actions after one read of the journal.
    mutating func read(_ acts: Act...) -> [Action] {
      var changes = FollowerState.Changes()
      perform(acts, &changes)
      return state.advance(changes, to: queue)
    }

    /// The actions after a read that rebuilt the queue from these.
    mutating func reread(_ acts: [Act]) -> [Action] {
      var changes = FollowerState.Changes()
      changes.replaced = queue
      queue = Queue()
      perform(acts, &changes)
      return state.advance(changes, to: queue)
    }

    private mutating func perform(_ acts: [Act], _ changes: inout FollowerState.Changes) {
      var after = queue
      for entry in after.perform(acts) {
        let before = entry.job.flatMap(queue.job)
        queue.apply(entry)
        changes.note(entry, before, queue)
      }
    }
  }

  private static let terminal = Follower.OutputStyle(isTalkative: true, sharesTerminal: true)

  private let again = AttemptID(id: 1, number: 2)

  private func add(_ id: JobID, retries: Int = 0) -> Act {
    .add(id, serialqTests.spec("true", JobSpec.Details(limits: Limits(retries: retries))))
  }

  private func end(_ id: JobID, _ code: Int32 = 0) -> Act {
    .end(id, .exited(code), duration: 1_000_000_000)
  }

  // Fails if a change of a waiting job brings its output forward, or if a job is printed at each of
  // its changes, which is before its turn and twice.
  @Test("jobs are printed in the order in which they ran, whatever happened to them before")
  func orderAfterChanges() {
    let following = Following(after: [add(1), add(2), add(3), .start(1)])
    var moved = following
    #expect(moved.read() == [.open(1), .printNew])
    #expect(
      moved.read(
        .move([2], .last), end(1), .start(3), end(3), .start(2), end(2))
        == [
          .printRest, .close(1), .open(3), .printRest, .close(3), .open(2), .printRest, .close(2),
        ])
    var retried = following
    let failed = Action.message("serialq: job 1 failed, attempt 1; retrying")
    #expect(retried.read() == [.open(1), .printNew])
    #expect(
      retried.read(
        end(1, 1), .retry([1]), .start(2), end(2), .start(1))
        == [
          .printRest, failed, .printRest, .open(2), .printRest, .close(2), .open(again), .printNew,
        ])
    var acknowledged = following
    #expect(
      acknowledged.read(end(1, 1), .start(2), end(2), .acknowledge(1), .start(3))
        == [
          .open(1), .printRest, .close(1),
          .message("serialq: job 1 failed with exit code 1 after 1.0s: true"), .open(2), .printRest,
          .close(2), .open(3), .printNew,
        ])
  }

  // Fails if a message starts in the middle of the job's last line, or a line is completed where
  // output and messages go to different places.
  @Test("on a terminal, starts and ends are reported, each on a line of its own")
  func talkative() {
    var following = Following(.queue, Self.terminal, after: [add(1)])
    #expect(following.read(.start(1)) == [.open(1), .message("[1] true"), .printNew])
    #expect(
      following.read(end(1)) == [
        .printRest, .endLine, .close(1), .message("[1] succeeded after 1.0s"),
      ])
    let redirected = Follower.OutputStyle(isTalkative: true, sharesTerminal: false)
    var other = Following(.queue, redirected, after: [add(1), .start(1)])
    #expect(
      other.read(end(1)) == [
        .open(1), .message("[1] true"), .printRest, .close(1),
        .message("[1] succeeded after 1.0s"),
      ])
  }

  // Fails if earlier ends are reported, or if a job that ended before following began is not
  // printed although it was asked for.
  @Test("what ended before is not printed, except the job that was asked for")
  func before() {
    let events = [add(1), .start(1), end(1, 1), add(2)]
    var following = Following(after: events)
    #expect(following.read() == [] && following.state.firstFailed == nil)
    #expect(
      following.read(.retry([1]), .start(1)) == [
        .open(again), .printNew,
      ])
    var one = Following(.job(1), after: events)
    #expect(
      one.read() == [
        .open(1), .printRest, .close(1),
        .message("serialq: job 1 failed with exit code 1 after 1.0s: true"),
      ])
    #expect(one.read() == [])
  }

  // Fails if another job's log is printed, or its end is reported.
  @Test("following one job ignores all others")
  func oneOfTwo() {
    var following = Following(.job(2), after: [add(1), add(2), add(3)])
    #expect(following.read(.start(1)) == [])
    #expect(following.read(end(1, 1), .start(2)) == [.open(2), .printNew])
    #expect(!following.isAtEnd)
    #expect(
      following.read(end(2), .start(3), .forget(1...1)) == [
        .printRest, .close(2),
      ])
    #expect(following.isAtEnd && following.state.firstFailed == nil)
    // A job that was removed has no end to wait for.
    #expect(Following(.job(3), after: [add(1)]).isAtEnd)
  }

  // Fails if the log is opened again, which would print the first attempt twice, or if attempts
  // that ended between two reads are not reported.
  @Test("an automatic retry continues the log, and each failed attempt is reported once")
  func automaticRetry() {
    var following = Following(after: [add(1, retries: 3)])
    func failed(_ attempt: Int) -> Action {
      .message("serialq: job 1 failed, attempt \(attempt); retrying")
    }
    #expect(following.read(.start(1)) == [.open(1), .printNew])
    #expect(following.read(end(1, 1)) == [.printRest, failed(1), .printNew])
    #expect(following.read() == [.printNew])
    #expect(following.read(.start(1)) == [.printRest, .printNew])
    let between = following.read(
      end(1, 1), .start(1), end(1, 1),
      .start(1))
    #expect(between == [.printRest, failed(2), failed(3), .printNew])
    #expect(following.read(end(1)) == [.printRest, .close(AttemptID(id: 1, number: 4))])
    #expect(following.state.firstFailed == nil && following.succeeded == 1)
  }

  // Fails if the output appears only with the next attempt, which can be days later; or if it is
  // printed again with each event of the waiting job.
  @Test("an attempt that started and failed between two reads is printed while its job waits")
  func waitingForRetry() {
    let failed = Action.message("serialq: job 1 failed, attempt 1; retrying")
    var following = Following(after: [add(1, retries: 1), add(2)])
    #expect(
      following.read(.start(1), end(1, 1)) == [
        .open(1), .printRest, failed, .printNew,
      ])
    #expect(following.read(.start(2), end(2)) == [.printRest, .open(2), .printRest, .close(2)])
    #expect(following.read(.move([1], .first)) == [])
    var terminal = Following(.queue, Self.terminal, after: [add(1, retries: 1)])
    #expect(
      terminal.read(.start(1), end(1, 1)) == [
        .open(1), .message("[1] true"), .printRest, .endLine,
        .message("[1] attempt 1 failed; retrying"), .printNew,
      ])
    #expect(
      terminal.read(.cancel([1])) == [.message("[1] was cancelled"), .printNew])
  }

  // Fails if the log of the ended attempt is printed again while the job waits.
  @Test("a job that was reported and is retried later is not printed again before its turn")
  func retriedAfterReport() {
    var following = Following(after: [add(1), .start(1)])
    #expect(
      following.read(end(1, 1)).last
        == .message(
          "serialq: job 1 failed with exit code 1 after 1.0s: true"))
    #expect(following.read(.retry([1])) == [])
    var later = Following(after: [add(1), .start(1), end(1, 1)])
    #expect(later.read(.retry([1])) == [])
  }

  // Fails if the log of the last attempt continues: a manual retry replaces the file.
  @Test("a manual retry is printed from the start of a new log")
  func manualRetry() {
    var following = Following(.queue, Self.terminal, after: [add(1)])
    #expect(following.read(.start(1)).first == .open(1))
    #expect(following.read(end(1, 1), .retry([1])).first == .printRest)
    #expect(
      following.read(.start(1)) == [
        .printRest, .endLine, .open(again), .message("[1] true"), .printNew,
      ])
  }

  // Fails if only the latest log is printed: give both attempts the same turn in `Changes`.
  @Test("attempts that were queued again by hand between two reads are printed, each from its log")
  func manualRetriesBetween() {
    var following = Following(after: [add(1), add(2)])
    let actions = following.read(
      .start(1), end(1, 1), .retry([1]), .start(2), end(2), .start(1), end(1), .retry([2]),
      .forget(1...1))
    #expect(
      actions == [
        .open(1), .printRest, .message("serialq: job 1 failed, attempt 1; retrying"), .printRest,
        .open(2), .printRest, .printRest, .open(again), .printRest, .close(again),
      ])
    #expect(following.state.counts == [.succeeded: 1])
    #expect(following.read() == [])
    // Its log is retained again.
    #expect(following.read(.start(2)) == [.open(AttemptID(id: 2, number: 2)), .printNew])
  }

  // Fails if a job without a log closes the open one, or opens its own.
  @Test("the end of a job that never ran does not interrupt the open log")
  func neverRan() {
    var following = Following(.queue, Self.terminal, after: [add(1), add(2), add(3)])
    #expect(following.read(.start(1)).first == .open(1))
    #expect(
      following.read(.cancel([2])) == [
        .message("[2] was cancelled"), .printNew,
      ])
    #expect(
      following.read(.skip(3, because: 2)) == [
        .message("[3] was skipped because job 2 did not succeed"), .printNew,
      ])
    #expect(following.state.firstFailed == nil && following.succeeded == 0)
  }

  // Fails if the log of a job is skipped because the job is no longer in the queue, or not counted.
  @Test("jobs that are forgotten before they are printed are printed and counted like others")
  func forgotten() {
    var following = Following(after: [add(1), add(2), add(3), .start(1)])
    #expect(following.read() == [.open(1), .printNew])
    let actions = following.read(
      end(1), .start(2), end(2, 1), .forget(1...2), .start(3))
    #expect(
      actions == [
        .printRest, .close(1), .open(2), .printRest, .close(2),
        .message("serialq: job 2 failed with exit code 1 after 1.0s: true"), .open(3), .printNew,
      ])
    #expect(following.succeeded == 1 && following.state.firstFailed == 2)
  }

  // Fails if a job is reported as failed that was retried, and cancelled before it ran again.
  @Test("a retried job that is forgotten without another attempt was cancelled")
  func forgottenRetry() {
    var following = Following(after: [add(1), .start(1)])
    #expect(following.read() == [.open(1), .printNew])
    let actions = following.read(
      end(1, 1), .retry([1]), .cancel([1]),
      .forget(1...1))
    #expect(
      actions == [
        .printRest, .message("serialq: job 1 failed, attempt 1; retrying"),
        .message("serialq: job 1 was cancelled: true"), .printNew,
      ])
    #expect(following.state.firstFailed == nil && following.state.counts == [.cancelled: 1])
  }

  // Fails if events that are reported again are printed again, or if the end of a job is missed
  // because its event was compacted away.
  @Test("after a compaction, only what is new is printed")
  func compaction() {
    let before = [add(1), add(2), .start(1), end(1, 1)]
    var following = Following(after: before)
    #expect(following.read(.start(2)) == [.open(2), .printNew])
    #expect(following.reread(before + [.start(2)]) == [.printNew])
    #expect(following.reread(before + [.start(2), end(2)]) == [.printRest, .close(2)])
    #expect(following.state.firstFailed == nil && following.succeeded == 1)
  }

  // Fails if a job is neither printed nor reported that was added, ended, forgotten and compacted
  // away, or if the call would exit as if it had succeeded.
  @Test("after a compaction, jobs are reported that were forgotten before they were printed")
  func compactedAway() {
    var following = Following(after: [add(1), add(2), .start(1), end(1)])
    #expect(
      following.reread([add(1), .start(1), end(1), add(4)]) == [
        .message("serialq: jobs 2-3: removed before the output could be printed")
      ])
    #expect(following.state.counts == [nil: 2])
  }

  // Traps if ids below those of before end it; fails if the job is reported, which never was in the
  // queue.
  @Test("a job whose line was taken back, because it could not be flushed, is not reported")
  func takenBack() {
    var following = Following(after: [add(1), .start(1)])
    #expect(following.read(add(2)) == [.open(1), .printNew])
    #expect(following.reread([add(1), .start(1)]) == [.printNew])
    #expect(following.state.counts.isEmpty)
  }

  // Fails if the log of a job that has disappeared is closed with its last bytes unprinted: the
  // processes of a job can outlive it.
  @Test("a log is printed to its end before another is opened")
  func switching() {
    var following = Following(after: [add(1), .start(1)])
    #expect(following.read() == [.open(1), .printNew])
    #expect(following.reread([add(2), .start(2)]) == [.printRest, .close(1), .open(2), .printNew])
  }

  // Fails if the log between two attempts is opened for the queue too, or again with each read; or
  // if failures are reported that occurred before following began.
  @Test("following a job between two attempts begins with its log")
  func betweenAttempts() {
    let events = [add(1, retries: 1), .start(1), end(1, 1)]
    var queue = Following(after: events)
    #expect(queue.read() == [])
    var one = Following(.job(1), after: events)
    #expect(one.read() == [.open(1), .printRest, .printNew])
    #expect(one.read(.start(1)) == [.printRest, .printNew])
    #expect(one.read(end(1)) == [.printRest, .close(again)])
  }
}

extension AttemptID: ExpressibleByIntegerLiteral {
  /// The first attempt at a job.
  public init(integerLiteral id: Int) { self.init(id: id, number: 1) }
}

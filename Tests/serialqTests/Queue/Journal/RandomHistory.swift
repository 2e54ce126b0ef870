import TestSupport
import SerialqSystem
@testable import SerialqQueue

/// A history that runners, adders and all other commands could have written, in batches.
func randomHistory(_ generator: inout SeededGenerator, batches: Int) -> [[Event]] {
  var history = RandomHistory()
  while history.batches.count < batches { history.grow(&generator) }
  return history.batches
}

/// Appends events that are possible next.
private struct RandomHistory {
  var batches: [[Event]] = []
  private var queue = Queue()
  private var now = Timestamp(microseconds: 1_800_000_000_123_456)

  mutating func grow(_ generator: inout SeededGenerator) {
    now.microseconds += .random(in: 1...5_000_000, using: &generator)
    let batch =
      switch Int.random(in: 0..<10, using: &generator) {
      case 0..<3: adds(&generator)
      case 3, 4: run(&generator)
      case 5, 6: ends(&generator)
      case 7: changesWaiting(&generator)
      case 8: changesEnded(&generator)
      default: changesQueue(&generator)
      }
    guard !batch.isEmpty else { return }
    batch.forEach { queue.apply($0) }
    batches.append(batch)
  }

  private func adds(_ generator: inout SeededGenerator) -> [Event] {
    let count = [1, 1, 1, 2, 3].randomElement(using: &generator) ?? 1
    return (0..<count).map { index in
      .added(job(queue.nextID + index, &generator))
    }
  }

  private func job(_ id: JobID, _ generator: inout SeededGenerator) -> NewJob {
    let words = (0..<3).map { _ in generator.bytes(upTo: 6, in: 1...255) }
    var job = NewJob(
      id: id,
      Payload(
        command(&generator),
        in: ExecutionContext(
          directory: Bytes("/tmp"), environment: Bytes("0123456789abcdef"), umask: 0o22),
        label: Bool.random(using: &generator) ? words[2] : nil,
        input: Int.random(in: 0..<6, using: &generator) == 0 ? .file(words[1]) : nil,
        terminal: terminal(&generator)), at: now)
    if Int.random(in: 0..<3, using: &generator) == 0 {
      job.limits = Limits(
        timeout: .random(in: 0...9, using: &generator),
        retries: .random(in: 0...3, using: &generator),
        retryDelay: .random(in: 0...5, using: &generator), ifOK: .random(using: &generator))
    }
    if Int.random(in: 0..<3, using: &generator) == 0 {
      job.limits.after = required(by: id, &generator)
    }
    if Int.random(in: 0..<4, using: &generator) == 0 { job.place = place(&generator) }
    return job
  }

  private func terminal(_ generator: inout SeededGenerator) -> JobTerminal? {
    [nil, nil, .unknownSize, JobTerminal(rows: 24, columns: 80)].randomElement(using: &generator)
      ?? nil
  }

  /// Lower ids, also of jobs that do not exist.
  private func required(
    by id: JobID, _ generator: inout SeededGenerator
  ) -> [ClosedRange<JobID>] {
    JobID.ranges(of: (1..<max(id, 2)).suffix(6).filter { _ in .random(using: &generator) })
  }

  private func edited(_ job: Job, _ generator: inout SeededGenerator) -> [Event] {
    var options: EditedOptions?
    if Bool.random(using: &generator) {
      let new = self.job(job.id, &generator)
      options = EditedOptions(
        context: new.payload.context, label: new.payload.label, terminal: new.payload.terminal,
        limits: new.limits)
    }
    return queue.editEvents(
      job, command(&generator), options, checks: .random(using: &generator), at: now)
  }

  private func command(_ generator: inout SeededGenerator) -> Command {
    let words = (0..<3).map { _ in generator.bytes(upTo: 6, in: 1...255) }
    return Bool.random(using: &generator) ? .shell(words[0]) : .arguments(words)
  }

  /// Also next to a job that does not wait.
  private func place(_ generator: inout SeededGenerator) -> Place {
    let other = anyJob(&generator) ?? 1
    return [.last, .first, .before(other), .after(other)].randomElement(using: &generator) ?? .last
  }

  private func anyJob(_ generator: inout SeededGenerator) -> JobID? {
    queue.jobs.randomElement(using: &generator)?.id
  }

  private func run(_ generator: inout SeededGenerator) -> [Event] {
    if let id = queue.running.first {
      let uptime = Int64.random(in: 0...9_999, using: &generator)
      let text = generator.bytes(upTo: 6, in: 1...255)
      switch Int.random(in: 0..<14, using: &generator) {
      case 9: return [.asked(id: id, at: now, question: Question(.password, text))]
      case 10: return [.asked(id: id, at: now, question: Question(.input, text))]
      case 11: return [.asked(id: id, at: now, question: nil)]
      case 12: return [.unlogged(id: id, reason: text)]
      case 13: return [.launched(id: id, Launch(command: text, job: text, node: nil, lost: text))]
      case 5, 6: return [.suspended(id: id, at: now, uptime: uptime)]
      case 7, 8: return [.continued(id: id, at: now, uptime: uptime)]
      case 0, 1: return [.spawned(id: id, pid: .random(in: 2...99_999, using: &generator))]
      case 2, 3: return [.cancelling(id: id, at: now, signal: 15)]
      default: return [.left(id: id, processes: text)]
      }
    }
    switch queue.next(now: Timestamp(microseconds: .max)) {
    case .run(let job):
      let attempt = (job.run?.attempt ?? 0) + 1
      return [
        .started(
          id: job.id, attempt: attempt, at: now, boot: Bytes("b-1"),
          hasTerminal: queue.givesTerminal(to: job))
      ]
    case .skip(let job, let because): return [.skipped(id: job.id, at: now, because: because)]
    case .later, .nothing: return []
    }
  }

  private func ends(_ generator: inout SeededGenerator) -> [Event] {
    guard let job = queue.running.first.flatMap(queue.job) else { return [] }
    let endings: [Ending] = [
      .exited(0), .exited(3), .killed(9), .cannotRun(127, reason: Bytes("not found")),
    ]
    let causes: [EndCause] = [.itself, .itself, .cancelled, .timedOut]
    guard let how = endings.randomElement(using: &generator),
      let cause = causes.randomElement(using: &generator)
    else { return [] }
    switch Int.random(in: 0..<6, using: &generator) {
    case 0:
      return [.interrupted(id: job.id, at: now, stopped: .random(using: &generator))]
        + queue.consequences(of: job, ending: .interrupted, at: now)
    case 1: return [.cancelled(id: job.id, at: now)]
    default:
      let end = Event.ended(id: job.id, at: now, duration: 1_234_567, how: how, cause: cause)
      return [end] + queue.consequences(of: job, ending: how.state(because: cause), at: now)
    }
  }

  private func changesWaiting(_ generator: inout SeededGenerator) -> [Event] {
    guard let job = Array(queue.waiting).randomElement(using: &generator) else { return [] }
    switch Int.random(in: 0..<4, using: &generator) {
    case 0: return queue.cancelEvents([job.id], at: now)
    case 1: return edited(job, &generator)
    default: return [.moved(id: job.id, at: now, place: place(&generator))]
    }
  }

  private func changesEnded(_ generator: inout SeededGenerator) -> [Event] {
    guard let id = anyJob(&generator), let job = queue.job(id), job.state.isOver else { return [] }
    switch Int.random(in: 0..<7, using: &generator) {
    case 5: return edited(job, &generator)
    case 6: return queue.retryEvents([job], first: .random(using: &generator), at: now)
    case 0: return [.acknowledged(id: id, at: now)]
    case 1: return [.hookFailed(id: id, at: now, how: .exited(2))]
    case 2:
      let last = id + Int.random(in: 0...4, using: &generator)
      return [.forgotten(ids: [id...last], at: now)]
    default:
      return [
        .retried(
          Retry(
            id: id, at: now, attempts: job.run?.attempt ?? 0, place: place(&generator),
            isFree: .random(using: &generator)))
      ]
    }
  }

  private func changesQueue(_ generator: inout SeededGenerator) -> [Event] {
    let hook = Hook(
      line: Bytes("notify"),
      in: ExecutionContext(directory: Bytes("/"), environment: Bytes("e"), umask: 0o77))
    let settings: [Setting] = [
      .stopsOnFailure(true), .stopsOnFailure(false), .keep(3), .keep(nil), .onFinish(hook),
      .onFinish(nil), .onIdle(hook), .onIdle(hook), .onIdle(nil), .shell(Bytes("/bin/bash")),
      .shell(nil), .logLimit(4096), .logLimit(nil), .onAsk(hook), .onAsk(nil), .terminal(true),
      .terminal(false),
    ]
    switch Int.random(in: 0..<6, using: &generator) {
    case 4: return [.hookFailed(id: nil, at: now, how: .exited(2))]
    case 5: return queue.isIdleHookDue ? [.counted(Results(), at: now)] : []
    case 0: return [.paused(at: now, because: anyJob(&generator))]
    case 1, 2: return [.resumed(at: now)]
    default: return settings.randomElement(using: &generator).map { [.set($0, at: now)] } ?? []
    }
  }
}

import SerialqSystem
import TestSupport

@testable import SerialqQueue

/// A history that runners, adders and all other commands could have written, in batches.
func randomHistory(_ generator: inout SeededGenerator, batches: Int) -> [[Entry]] {
  var history = RandomHistory(seed: generator.next())
  var written: [[Entry]] = []
  while written.count < batches {
    let entries = history.queue.perform(history.next())
    if !entries.isEmpty { written.append(entries) }
  }
  return written
}

/// What could happen to a queue next.
struct RandomHistory {
  var queue = Queue()
  private var random: RandomStates
  private var seconds: Int64 = 0

  init(seed: UInt64) { random = RandomStates(seed: seed) }

  private var now: ClockReading {
    moment(
      Timestamp(microseconds: Timestamp.test.microseconds + seconds * 1_000_000), monotonic: seconds
    )
  }

  mutating func next() -> [Act] {
    seconds += Int64(random.int(1...5))
    switch random.int(0...9) {
    case 0...2:
      return (0..<[1, 1, 1, 2, 3][random.int(0...4)]).map {
        .add(queue.nextID + $0, random.spec(), [.last, .last, .last, place()][random.int(0...3)])
      }
    case 3, 4: return turn()
    case 5, 6: return end()
    case 7: return changeWaiting()
    case 8: return changeOver()
    default: return changeQueue()
    }
  }

  /// Also next to a job that does not wait.
  private mutating func place() -> Place {
    let other = queue.jobs.isEmpty ? 1 : queue.jobs[random.int(0...queue.jobs.count - 1)].id
    return [.last, .first, .before(other), .after(other)][random.int(0...3)]
  }

  private mutating func turn() -> [Act] {
    if let id = queue.running.first {
      let (now, text) = (now, Bytes("text".utf8))
      let acts: [Act] = [
        .ask(id, Question(.password, text)), .ask(id, nil),
        .unlog(id, text), .leave(id, text),
        .suspend(id, at: now), .continue(id, at: now),
        .spawn(id, pid: 77), .request(id, 15, at: now),
      ]
      return [acts[random.int(0...7)]]
    }
    switch queue.next(now: moment(Timestamp(microseconds: .max / 2), boot: "later")) {
    case .run(let job):
      let missing = Bytes(["processes", "memory"][random.int(0...1)].utf8)
      if random.int(0...5) == 0 { return [.postpone(job.id, missing, at: now)] }
      let start = Act.start(
        job.id, hasTerminal: queue.givesTerminal(to: job), launcher: queue.settings.launcher,
        at: now)
      guard random.int(0...5) == 0 else { return [start] }
      return [start, .postpone(job.id, missing, before: job.status, at: now)]
    case .skip(let job, let because): return [.skip(job.id, because: because, at: now.date)]
    case .later, .nothing: return []
    }
  }

  private mutating func end() -> [Act] {
    guard let id = queue.running.first else { return [] }
    let endings: [Ending] = [
      .exited(0), .exited(3), .killed(9), .cannotRun(127, reason: Bytes("not found".utf8)),
    ]
    let cause: EndCause = [.itself, .itself, .cancelled, .timedOut][random.int(0...3)]
    if random.int(0...5) == 0 { return [.interrupt(id, at: now)] }
    return [.end(id, endings[random.int(0...3)], cause, duration: 1_234_567, at: now)]
  }

  private mutating func changeWaiting() -> [Act] {
    let waiting = Array(queue.waiting)
    guard !waiting.isEmpty else { return [] }
    let id = waiting[random.int(0...waiting.count - 1)].id
    switch random.int(0...3) {
    case 0: return [.cancel([id], at: now.date)]
    case 1: return [.edit(id, random.spec(), checks: random.int(0...1) == 0)]
    default:
      let place = place()
      return place.neighbor == id ? [] : [.move([id], place)]
    }
  }

  private mutating func changeOver() -> [Act] {
    let over = queue.jobs.filter(\.state.isOver)
    guard !over.isEmpty else { return [] }
    let id = over[random.int(0...over.count - 1)].id
    switch random.int(0...5) {
    case 0: return [.acknowledge(id)]
    case 1: return [.failHook(id, .exited(2))]
    case 2: return [.forget(id...id + random.int(0...4))]
    case 3: return [.retry([id]), .edit(id, random.spec(), checks: random.int(0...1) == 0)]
    default: return [.retry([id], first: random.int(0...1) == 0)]
    }
  }

  private mutating func changeQueue() -> [Act] {
    switch random.int(0...3) {
    case 0: return [.pause(because: queue.jobs.first?.id)]
    case 1: return [.resume]
    case 2:
      let isDue = queue.isIdleHookDue
      return [.set { isDue ? $0.startOnIdle() : $0.failOnIdle(.exited(2)) }]
    default:
      // What a queue remembers follows from what happens.
      let settings = random.properties().settings
      return [
        .set {
          $0.onIdle = settings.onIdle
          $0.settings = settings
        }
      ]
    }
  }
}

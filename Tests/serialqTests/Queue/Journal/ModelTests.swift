import SerialqSystem
import TestSupport
import Testing

@testable import SerialqQueue

/// Compares a queue with a model of it: what a user of the commands would expect, in plain arrays.
@Suite struct ModelTests {
  // Fails when a line says something else than what happened, or its effect on the order, the
  // counts or the results is another one.
  @Test(
    "After any history, a queue, its journal and its compaction are as the model says",
    .shows(OnDisk.replay, OnDisk.compaction), arguments: 1...(isLong ? 30 : 15))
  func histories(seed: UInt64) throws {
    var (history, model) = (RandomHistory(seed: seed), Model())
    var written: [Entry] = []
    for step in 0..<(isLong ? 1_000 : 300 / ease) {
      let acts = history.next()
      for act in acts { model.perform(act) }
      written += history.queue.perform(acts)
      let difference = Picture(history.queue).difference(from: Picture(model))
      try #require(difference == nil, "step \(step) of seed \(seed): \(acts)")
      tally(1)
      guard step % 50 == 0 else { continue }
      // Read back from bytes.
      let text = Bytes(lines(written, next: history.queue.nextID).joined())
      for queue in [try Replayed(text).queue, try history.queue.compacted()] {
        try #require(Picture(queue) == Picture(model), "step \(step) of seed \(seed), read back")
      }
    }
  }
}

/// What users see of a queue.
private struct Picture: Equatable {
  struct Job: Equatable {
    var id = 0
    var command = Command.shell([])
    var state = JobState.waiting
    var attempts = 0
    var retriesUsed = 0
    var isAgain = false
    var isOpen = false
    var isFree = false
    var missing: Bytes?
    var isSuspended = false
    var signals: [Int32] = []
    var question: Question?
    var pid: Int32?
    var hasTerminal = false
    var ending: Ending?
    var because: JobID?
    var hookFailure: Ending?
    var left: Bytes?
    var unlogged: Bytes?
    var required: [JobID] = []
  }

  var jobs: [Job] = []
  var waiting: [JobID] = []
  var running: [JobID] = []
  var properties = QueueProperties()

  /// The first property that differs, and both values.
  func difference(from other: Picture) -> String? {
    guard self != other else { return nil }
    if let (one, two) = zip(jobs, other.jobs).first(where: { $0 != $1 }) { return "\(one)\n\(two)" }
    let both = zip(Mirror(reflecting: self).children, Mirror(reflecting: other).children)
    let (one, two) = both.map { ("\($0)", "\($1)") }.first { $0 != $1 } ?? ("", "")
    return "\(one)\n\(two)"
  }

  init(_ model: Model) {
    self = model.picture
    jobs = model.jobs.values.sorted { $0.id < $1.id }
  }

  init() {}

  init(_ queue: Queue) {
    jobs = queue.jobs.map { job in
      Job(
        id: job.id, command: job.command, state: job.state, attempts: job.attempts,
        retriesUsed: job.retriesUsed, isAgain: job.isAgain, isOpen: job.isOpen,
        isFree: job.waiting?.isFree == true, missing: job.waiting?.missing,
        isSuspended: job.suspendedSince != nil, signals: job.running?.requests ?? [],
        question: job.running?.question, pid: job.running?.pid, hasTerminal: job.hadTerminal,
        ending: job.ending, because: job.skippedBecause, hookFailure: job.over?.hookFailure,
        left: job.execution?.left, unlogged: job.execution?.unlogged,
        required: Array(job.limits.after.joined()))
    }
    waiting = queue.waiting.map(\.id)
    running = queue.running
    properties = queue.properties
  }
}

/// A queue, its waiting jobs in an array, and no idea of lines, states or ranks.
private struct Model {
  var jobs: [JobID: Picture.Job] = [:]
  var specs: [JobID: JobSpec] = [:]
  var ends: [JobID: Timestamp] = [:]
  /// The job that was started last, before that, and its place.
  var started: (job: Picture.Job, place: Int)?
  var picture = Picture()

  mutating func perform(_ act: Act) {
    switch act {
    case .add(let id, let spec, let place):
      jobs[id] = Picture.Job(id: id)
      edit(id, spec)
      picture.waiting.append(id)
      move(id, place)
    case .start(let id, let hasTerminal, _, _):
      guard let job = jobs[id], let place = picture.waiting.firstIndex(of: id) else { return }
      started = (job, place)
      picture.waiting.remove(at: place)
      picture.running.append(id)
      update(id) { job in
        job = Picture.Job(
          id: id, command: job.command, state: .running, attempts: job.attempts + 1,
          retriesUsed: job.retriesUsed, isAgain: job.isAgain, hasTerminal: hasTerminal,
          required: job.required)
      }
    case .postpone(let id, let missing, _, _):
      if picture.running == [id], let started {
        jobs[id] = started.job
        picture.running = []
        picture.waiting.insert(id, at: started.place)
      }
      update(id) { $0.missing = missing }
    case .end(let id, let how, let cause, _, let at):
      end(id, how.state(because: cause), how, at.date)
    case .interrupt(let id, _, let at): end(id, .interrupted, nil, at.date)
    case .cancel(let ids, let at):
      let before = picture.waiting
      for id in ids { leave(id, .cancelled, because: nil, at) }
      for id in ids {
        for next in before[((before.firstIndex(of: id) ?? before.count - 1) + 1)...] {
          guard specs[next]?.details.limits.ifOK == true, jobs[next]?.isFree == false,
            jobs[next]?.state == .waiting
          else { break }
          leave(next, .skipped, because: id, at)
        }
      }
    case .skip(let id, let because, let at):
      guard jobs[id]?.state == .waiting else { break }
      leave(id, .skipped, because: because, at)
      picture.properties.previous = QueueProperties.Previous(id: id, succeeded: false)
    case .retry(let ids, let first): retry(ids, first: first)
    case .move(let ids, let place): for id in ids { move(id, place) }
    case .edit(let id, let spec, let checks):
      edit(id, spec)
      if checks { update(id) { $0.isFree = false } }
      putInOrder()
    case .spawn(let id, let pid): running(id) { $0.pid = pid }
    case .request(let id, let signal, _):
      self.continue(id)
      running(id) { $0.signals.append(signal) }
    case .suspend(let id, _): running(id) { if $0.signals.isEmpty { $0.isSuspended = true } }
    case .continue(let id, _): self.continue(id)
    case .ask(let id, let question): running(id) { $0.question = question }
    case .leave(let id, let processes): running(id) { $0.left = processes }
    case .unlog(let id, let reason): running(id) { $0.unlogged = reason }
    case .failHook(let id, let how): over(id) { $0.hookFailure = how }
    case .acknowledge(let id): over(id) { $0.isOpen = false }
    case .set(let change): change(&picture.properties)
    case .write(.forgotten(let ranges)): for id in ranges.joined() { forget(id) }
    case .write(.job), .write(.status), .write(.queue): Issue.record("not an act of a user")
    }
  }

  private mutating func update(_ id: JobID, _ change: (inout Picture.Job) -> Void) {
    if var job = jobs[id] {
      change(&job)
      jobs[id] = job
    }
  }

  private mutating func running(_ id: JobID, _ change: (inout Picture.Job) -> Void) {
    if jobs[id]?.state == .running { update(id, change) }
  }

  private mutating func over(_ id: JobID, _ change: (inout Picture.Job) -> Void) {
    if jobs[id]?.state.isOver == true { update(id, change) }
  }

  private mutating func `continue`(_ id: JobID) {
    running(id) { if $0.isSuspended { ($0.isSuspended, $0.left) = (false, nil) } }
  }

  private mutating func edit(_ id: JobID, _ spec: JobSpec) {
    specs[id] = spec
    update(id) {
      $0.command = spec.command
      $0.required = spec.details.limits.after.joined().filter { $0 < id }
    }
  }

  private mutating func move(_ id: JobID, _ place: Place) {
    guard let from = picture.waiting.firstIndex(of: id) else { return }
    var others = picture.waiting
    others.remove(at: from)
    switch place {
    case .first: others.insert(id, at: 0)
    case .last: others.append(id)
    case .before(let next):
      guard let index = others.firstIndex(of: next) else { return }
      others.insert(id, at: index)
    case .after(let last):
      guard let index = others.firstIndex(of: last) else { return }
      others.insert(id, at: index + 1)
    }
    picture.waiting = others
  }

  private mutating func end(_ id: JobID, _ state: JobState, _ how: Ending?, _ at: Timestamp) {
    guard jobs[id]?.state == .running, let limits = specs[id]?.details.limits else { return }
    picture.running.removeAll { $0 == id }
    picture.properties.previous = QueueProperties.Previous(id: id, succeeded: state == .succeeded)
    let isRetried = state.isFailure && jobs[id]?.retriesUsed ?? 0 < limits.retries
    update(id) { job in
      job.state = state
      job.ending = how
      (job.isOpen, job.isSuspended, job.signals, job.question, job.pid) = (
        state.opens, false, [], nil, nil
      )
    }
    if picture.properties.settings.onIdle != nil { picture.properties.results.hasRun = true }
    guard !isRetried else {
      update(id) { job in
        job = Picture.Job(
          id: id, command: job.command, attempts: job.attempts, retriesUsed: job.retriesUsed + 1,
          isAgain: job.isAgain, isFree: true, hasTerminal: job.hasTerminal, required: job.required)
      }
      picture.waiting.insert(id, at: 0)
      return
    }
    count(state)
    if state.isFailure, picture.properties.settings.stopsOnFailure, picture.properties.pause == nil
    {
      picture.properties.pause = QueueProperties.Pause(at: at, because: id)
    }
    keep(andOf: state.isFailure ? nil : id)
    ends[id] = at
  }

  private mutating func count(_ state: JobState) {
    guard picture.properties.settings.onIdle != nil else { return }
    switch state {
    case .succeeded: picture.properties.results.succeeded += 1
    case .skipped: picture.properties.results.skipped += 1
    case .cancelled: picture.properties.results.cancelled += 1
    default: picture.properties.results.failed += 1
    }
  }

  /// Forgets the jobs that ended first; `last` is the one that ends now, if it is not open.
  private mutating func keep(andOf last: JobID?) {
    guard let keep = picture.properties.settings.keep else { return }
    let over = jobs.values.filter { $0.state.isOver && !$0.isOpen && $0.id != last }
    let inOrder = over.map(\.id).sorted {
      (ends[$0] ?? .test, $0) < (ends[$1] ?? .test, $1)
    }
    for id in inOrder.dropLast(keep - (last == nil ? 0 : 1)) { forget(id) }
  }

  private mutating func leave(
    _ id: JobID, _ state: JobState, because: JobID?, _ at: Timestamp
  ) {
    guard jobs[id]?.state == .waiting else { return }
    picture.waiting.removeAll { $0 == id }
    update(id) {
      $0.state = state
      $0.because = because
      ($0.isOpen, $0.isFree, $0.missing) = (state.opens, false, nil)
    }
    ends[id] = at
    count(state)
  }

  private mutating func retry(_ ids: [JobID], first isFirst: Bool) {
    let before = jobs
    let first = ids.first { before[$0]?.required.contains(where: ids.contains) != true }
    if let last = picture.properties.previous?.id, ids.contains(last),
      before[last]?.state == .skipped,
      let cause = before[last]?.because
    {
      picture.properties.previous = QueueProperties.Previous(id: cause, succeeded: false)
    }
    for (index, id) in ids.enumerated() where before[id]?.state.isOver == true {
      let required = before[id]?.required ?? []
      let isAwaiting = required.contains {
        ids.contains($0) || before[$0].map { !$0.state.isOver } == true
      }
      let isChained =
        id != first && before[id]?.state == .skipped && specs[id]?.details.limits.ifOK == true
      update(id) { job in
        job = Picture.Job(
          id: id, command: job.command, attempts: job.attempts, isAgain: true,
          isFree: !isChained && !isAwaiting, hasTerminal: job.hasTerminal, required: job.required)
      }
      picture.waiting.append(id)
      if isFirst { move(id, index == 0 ? .first : .after(ids[index - 1])) }
    }
    putInOrder()
  }

  /// What waits for a job comes behind it, and behind the jobs after it that check the previous
  /// one.
  private mutating func putInOrder() {
    var (order, held) = ([JobID](), [JobID]())
    func isReady(_ id: JobID) -> Bool {
      let unmet = jobs[id]?.required.filter { jobs[$0]?.state == .waiting && !order.contains($0) }
      return jobs[id]?.isFree == true || unmet?.isEmpty != false
    }
    for (id, follower) in zip(picture.waiting, picture.waiting.dropFirst() + [0]) {
      held.append(id)
      let stays = specs[follower]?.details.limits.ifOK == true && jobs[follower]?.isFree == false
      var next = isReady(id) ? id : stays ? nil : held.first(where: isReady)
      while let id = next {
        order.append(id)
        held.removeAll { $0 == id }
        next = stays ? nil : held.first(where: isReady)
      }
    }
    picture.waiting = order
  }

  private mutating func forget(_ id: JobID) {
    guard let job = jobs[id], job.state.isOver else { return }
    jobs[id] = nil
    guard job.state == .succeeded else { return }
    for other in jobs.keys { update(other) { $0.required.removeAll { $0 == id } } }
  }
}

import SerialqSystem
import Testing

@testable import SerialqQueue

/// What a queue knows about the terminals of its jobs.
@Suite struct JobTerminalTests {
  private let now = Timestamp(microseconds: 5)
  private let password = Question(.password, Bytes("Passphrase:"))
  private let failure = Event.ended(
    id: 1, at: Timestamp(microseconds: 5), duration: 1, how: .exited(1), cause: .itself)

  private func started(_ attempt: Int = 1, hasTerminal: Bool = true) -> Event {
    .started(
      id: 1, attempt: attempt, at: now, boot: Bytes("b"), uptime: 1, hasTerminal: hasTerminal)
  }

  private func asked(_ question: Question?) -> Event {
    .asked(id: 1, at: now, question: question)
  }

  private func added(_ terminal: JobTerminal?, input: Input? = nil) -> Event {
    var new = newJob(1)
    new.payload = Payload(
      new.payload.command, in: new.payload.context, label: Bytes("x"), input: input,
      terminal: terminal)
    return .added(new)
  }

  private func waiting() -> Queue { queue(added(.unknownSize)) }

  /// The queue after a compaction.
  private func compacted(_ queue: Queue) throws -> Queue {
    var compacted = Queue()
    try queue.forEachMinimalEvent { compacted.apply($0) }
    return compacted
  }

  // Fails when a job with an input gets a terminal, or the setting decides against a job's own.
  @Test("A job has a terminal if it or the queue's setting says so, and it has no input")
  func gives() throws {
    let file = Input.file(Bytes("/data"))
    for (terminal, input, isOn, expected) in [
      (nil, nil, false, false), (nil, nil, true, true), (JobTerminal.unknownSize, nil, false, true),
      (.unknownSize, nil, true, true), (nil, file, true, false), (.unknownSize, file, true, false),
    ] {
      let queue = queue(added(terminal, input: input), .set(.terminal(isOn), at: now))
      let job = try #require(queue.job(1))
      #expect(queue.givesTerminal(to: job) == expected)
      let again = try compacted(queue)
      #expect(again.givesTerminal(to: job) == expected)
    }
  }

  // Fails when a question survives its answer or its attempt, or makes an ended job run again.
  @Test("A question lasts until it is answered or the attempt ends")
  func questions() throws {
    let other = Question(.input, Bytes("[Y/n]"))
    var queue = queue(added(.unknownSize), started(), asked(password))
    #expect(queue.job(1)?.run?.question == password)
    queue.apply(asked(other))
    #expect(queue.job(1)?.run?.question == other)
    queue.apply(asked(nil))
    #expect(queue.job(1)?.run?.question == nil)
    let isNews = queue.apply(asked(nil))
    #expect(!isNews)
    queue.apply(asked(password))
    queue.apply(failure)
    #expect(queue.job(1)?.run?.question == nil)
    for state in [queue, waiting()] {
      var late = state
      let counts = late.apply(asked(password))
      #expect(!counts && late == state)
    }
  }

  // Fails when a suspended job is listed as asking: it would not take the answer.
  @Test("A suspended job asks nothing until it is continued")
  func suspended() {
    var queue = queue(
      added(.unknownSize), started(), asked(password), .suspended(id: 1, at: now, uptime: 2))
    #expect(queue.job(1)?.question == nil && queue.job(1)?.stateText == "suspended")
    queue.apply(.continued(id: 1, at: now, uptime: 3))
    #expect(queue.job(1)?.question == password && queue.job(1)?.stateText == "asking")
  }

  // Fails when a retry, a cancellation or a skip forgets that the log is that of a terminal.
  @Test("Until its next attempt, a job counts as one whose log is that of a terminal")
  func lastAttempt() throws {
    let retried = Event.retried(Retry(id: 1, at: now, attempts: 1, used: 1))
    let histories: [[Event]] = [
      [failure], [failure, retried], [failure, retried, .cancelled(id: 1, at: now)],
      [failure, retried, .skipped(id: 1, at: now, because: 2)],
      [failure, retried, .spawned(id: 1, pid: 7)], [.interrupted(id: 1, at: now)],
    ]
    for history in histories {
      let queue = queue([added(nil), started()] + history)
      #expect(queue.job(1)?.run?.hasTerminal == true, "\(history)")
      let again = try compacted(queue)
      #expect(again == queue, "\(history)")
    }
    let next = queue(added(nil), started(), failure, retried, started(2, hasTerminal: false))
    #expect(next.job(1)?.run?.hasTerminal == false)
  }

  // Fails when output that is missing in a log is forgotten with the end of the job or by a
  // compaction.
  @Test("That a log is incomplete is known while it exists, also if it is recorded late")
  func unlogged() throws {
    let lost = Event.unlogged(id: 1, reason: Bytes("No space left on device"))
    for history in [[lost], [lost, failure], [failure, lost]] {
      let queue = queue([added(.unknownSize), started()] + history)
      #expect(queue.job(1)?.run?.unlogged == Bytes("No space left on device"))
      let again = try compacted(queue)
      #expect(again == queue)
    }
    var waiting = queue(added(.unknownSize))
    let counts = waiting.apply(lost)
    #expect(!counts)
    let again = queue(
      added(.unknownSize), started(), lost, failure, .retried(Retry(id: 1, at: now, attempts: 1)),
      started(2))
    #expect(again.job(1)?.run?.unlogged == nil)
  }

  // Fails when an edit drops what it does not name: build a new payload from the options.
  @Test("An edit of other properties keeps the input and the terminal")
  func edit() throws {
    let terminal = JobTerminal(rows: 50, columns: 132)
    let file = Input.file(Bytes("/data"))
    var queue = queue(added(terminal, input: file))
    let job = try #require(queue.job(1))
    var options = EditedOptions(
      context: job.context, label: nil, terminal: job.terminal, limits: .none)
    queue.apply(.edited(id: 1, at: now, command: .shell([]), options: options))
    let edited = try #require(queue.job(1))
    #expect(edited.label == nil && edited.input == file && edited.terminal == terminal)
    options.terminal = nil
    queue.apply(.edited(id: 1, at: now, command: .shell([]), options: options))
    #expect(queue.job(1)?.terminal == nil && queue.job(1)?.input == file)
  }

  // Fails when a size is read that is not written so: drop the last guard of `JobTerminal`.
  @Test("A terminal of any other spelling is damage")
  func spelling() throws {
    for text in ["24x80", "0x0", "65535x1"] {
      #expect(try isRead(text), "\(text)")
    }
    for text in ["", "24", "24x", "x80", "024x80", "24x80x1", "65536x1", "-1x2", "24X80", "+1x2"] {
      #expect(try !isRead(text), "\(text)")
    }
  }

  /// Whether an added job with this member reads back with it.
  private func isRead(_ text: String) throws -> Bool {
    var json = JSONWriter()
    json.object { json in json.member("terminal", Bytes(text.utf8)) }
    return try json.bytes.withUnsafeBufferPointer { line in
      var object = FlatObject()
      try object.begin(line)
      return (try? JobTerminal(from: &object))?.text == text
    }
  }

  // Fails when a terminal of one job in a thousand costs all others: store it in `Job` or `Run`.
  @Test("A job without a terminal is as small as before")
  func small() {
    #expect(MemoryLayout<Payload>.size <= 40)
    #expect(MemoryLayout<Job.Run>.size <= 200)
    #expect(MemoryLayout<Event>.stride <= 112)
  }
}

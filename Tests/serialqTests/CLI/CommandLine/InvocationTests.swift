@testable import SerialqQueue
@testable import SerialqSystem
import TestSupport
import Testing

@testable import SerialqCLI

@Suite struct InvocationTests {
  private func parse(_ words: String..., queue: String? = nil) throws(Failure) -> Invocation {
    try Invocation.parse(words.map { Bytes($0.utf8) }, queueVariable: queue.map { Bytes($0.utf8) })
  }

  private func jobs(
    _ queue: String = "default", label: String? = nil, directory: String? = nil,
    environment: [String] = []
  ) -> JobOptions {
    JobOptions(
      queue: queue, label: label.map { Bytes($0.utf8) },
      directory: directory.map { Bytes($0.utf8) },
      environment: environment.map { Bytes($0.utf8) }
    )
  }

  private func add(_ command: Command, _ options: JobOptions? = nil) -> Invocation {
    .command(AddCommand(job: options ?? jobs(), source: .command(command), json: false))
  }

  private func help(_ topic: HelpCommand.Topic) -> Invocation {
    .command(HelpCommand(topic: topic))
  }

  private func help(of name: CommandName) -> Invocation { help(.command(name)) }

  /// The parsed command; nil if the words are refused, or are a call of another command.
  private func command<Call: Subcommand>(_ words: String..., as _: Call.Type) -> Call? {
    let words = words.map { Bytes($0.utf8) }
    guard case .command(let command) = try? Invocation.parse(words) else { return nil }
    return command as? Call
  }

  // Fails if two of the forms are confused.
  @Test("one word is a command line, several are a program, and -- and -c override this")
  func commandForms() throws {
    #expect(try parse("add", "a && b") == add(.shell(Bytes("a && b"))))
    #expect(try parse("add", "ls", "-l") == add(.arguments([Bytes("ls"), Bytes("-l")])))
    #expect(try parse("add", "--", "my prog") == add(.arguments([Bytes("my prog")])))
    #expect(try parse("add", "--", "--", "-x") == add(.arguments([Bytes("--"), Bytes("-x")])))
    #expect(try parse("add", "-c", "-v") == add(.shell(Bytes("-v"))))
    #expect(try parse("add", "-") == add(.shell(Bytes("-"))))
  }

  // Fails if operands are searched for options of serialq.
  @Test("options stop at the command's first word")
  func optionsStop() throws {
    let words = ["ls", "-q", "--help", "--", "-c"].map { Bytes($0.utf8) }
    #expect(try Invocation.parse([Bytes("add")] + words) == add(.arguments(words)))
    #expect(
      try Invocation.parse([Bytes("run"), Bytes("-qa")] + words)
        == .command(RunCommand(job: jobs("a"), source: .command(.arguments(words))))
    )
  }

  // Fails if a notation of an option is not accepted.
  @Test("options are accepted in long, short, attached and clustered form")
  func optionForms() throws {
    let expected = add(
      .shell(Bytes("x")),
      jobs("v", label: "l=1", directory: "/d", environment: ["A=1", "B==2", "C="])
    )
    #expect(
      try parse(
        "add", "--queue=v", "--name", "l=1", "-C/d", "-e", "A=1", "--env=B==2", "-eC=", "x"
      ) == expected
    )
    #expect(
      try parse("log", "-fq", "v")
        == .command(LogCommand(queues: .one("v"), jobs: JobSelection(), follows: true, lines: 10)))
    #expect(
      try parse("log", "-fqv", "7")
        == .command(LogCommand(queues: .one("v"), jobs: JobSelection(7), follows: true, lines: 10)))
    #expect(
      try parse(
        "ls", "--state", "failed", "--state=interrupted", "--last", "3", "--failed", "--json",
        "-n", "a", "--name=b", "3-7", "c")
        == .command(
          ListCommand(
            queues: .one("default"), jobs: JobSelection([Bytes("3-7"), Bytes("c")]),
            labels: [Bytes("a"), Bytes("b")], states: ["failed", "interrupted"], onlyFailed: true,
            last: 3, json: true
          ))
    )
  }

  // Fails if a queue is paused or resumed that was not selected.
  @Test("pause and resume apply to one queue, or to all")
  func queueSelection() throws {
    #expect(try parse("pause") == .command(PauseCommand(queues: .one("default"))))
    #expect(try parse("pause", "-q", "v") == .command(PauseCommand(queues: .one("v"))))
    #expect(try parse("pause", "--all") == .command(PauseCommand(queues: .all)))
    #expect(
      try parse("pause", "--now", "--all") == .command(PauseCommand(queues: .all, isNow: true)))
    #expect(try parse("resume", queue: "v") == .command(ResumeCommand(queues: .one("v"))))
    #expect(try parse("resume", "--all", queue: "v") == .command(ResumeCommand(queues: .all)))
    #expect(
      try parse("wait", "--all", queue: "v")
        == .command(WaitCommand(queues: .all, jobs: JobSelection())))
    #expect(
      try parse("log", "-f", "--all")
        == .command(LogCommand(queues: .all, jobs: JobSelection(), follows: true, lines: 10)))
    #expect(
      try parse("-w", "--all") == .command(StatusCommand(queues: .all, watches: true, json: false)))
  }

  // Fails if 0 is refused for one of them: give `--retries` a count.
  @Test("0 means none for --timeout, --retry-delay and --retries alike")
  func none() {
    for option in ["--timeout", "--retry-delay", "--retries"] {
      #expect(command("add", option, "0", "c", as: AddCommand.self)?.job.limits() == Limits.none)
    }
  }

  // Fails if options after the job are read as words of its command, or the other way around.
  @Test("edit takes a job, then a command as add does, and options before the command")
  func edit() throws {
    func edit(_ words: String...) throws -> (JobSelection, JobChanges) {
      let words = [Bytes("edit")] + words.map { Bytes($0.utf8) }
      guard case .command(let command as EditCommand) = try Invocation.parse(words) else {
        throw Failure("edit", "is another command", next: "")
      }
      return (command.job, command.changes)
    }
    var changes = JobChanges(options: JobOptions(queue: "default"))
    #expect(try edit("7") == (JobSelection(7), changes))
    #expect(try edit("--", "-x") == (JobSelection([Bytes("-x")]), changes))
    changes.command = .arguments([Bytes("ls"), Bytes("-n"), Bytes("x")])
    #expect(try edit("7", "ls", "-n", "x") == (JobSelection(7), changes))
    changes.options.label = Bytes("x")
    #expect(try edit("-n", "x", "7", "ls", "-n", "x") == (JobSelection(7), changes))
    changes.command = .arguments([Bytes("ls")])
    #expect(try edit("7", "-n", "x", "--", "ls") == (JobSelection(7), changes))
    changes.command = .shell(Bytes("ls"))
    #expect(try edit("7", "-n", "x", "ls") == (JobSelection(7), changes))
    #expect(try edit("7", "-c", "ls", "-n", "x") == (JobSelection(7), changes))
    let after = JobSelection([Bytes("1-2"), Bytes("b")])
    changes = JobChanges(options: JobOptions(queue: "default", timeout: 0, after: after))
    #expect(
      try edit("--timeout", "0", "7", "--after", "1-2", "--after=b") == (JobSelection(7), changes))
  }

  // Fails if bytes are converted to text.
  @Test("bytes that are not UTF-8 are preserved")
  func anyBytes() throws {
    let words: [Bytes] = [Bytes("add"), [0x2D, 0x6E, 0xFF], [0xFE], [], [0x0A, 0xC3]]
    let expected = JobOptions(queue: "default", label: [0xFF], directory: nil, environment: [])
    #expect(try Invocation.parse(words) == add(.arguments([[0xFE], [], [0x0A, 0xC3]]), expected))
  }

  // Fails if the bare program no longer means `status`, or the queue has another source.
  @Test("nothing, or options alone, means status; the queue is the option's, then the variable's")
  func status() throws {
    #expect(try parse() == .command(StatusCommand(queues: .one("default"), json: false)))
    #expect(try parse("--json") == .command(StatusCommand(queues: .one("default"), json: true)))
    #expect(try parse(queue: "v") == .command(StatusCommand(queues: .one("v"), json: false)))
    #expect(
      try parse("status", queue: "")
        == .command(StatusCommand(queues: .one("default"), json: false)))
    #expect(try parse("-qa", queue: "v") == .command(StatusCommand(queues: .one("a"), json: false)))
    #expect(
      try parse("-qa", queue: "not good") == .command(StatusCommand(queues: .one("a"), json: false))
    )
  }

  // Fails if the value of an option counts as the command.
  @Test("options can precede the command")
  func optionsFirst() throws {
    for options in [["-q", "demo"], ["-qdemo"], ["--queue", "demo"], ["--queue=demo"]] {
      let words = (options + ["add", "-n", "x", "c"]).map { Bytes($0.utf8) }
      #expect(try Invocation.parse(words) == parse("add", "-q", "demo", "-n", "x", "c"))
    }
    #expect(try parse("--help", "list") == help(of: .list))
    #expect(throws: Failure.self) { try parse("-q", "demo", "--", "list") }
  }

  // Fails if an error elsewhere on the line prevents the help.
  @Test("help and version are accepted everywhere")
  func help() throws {
    #expect(try parse("help") == help(.overview))
    #expect(try parse("--help") == help(.overview))
    #expect(try parse("-h") == help(.overview))
    #expect(try parse("help", "ls") == help(of: .list))
    #expect(try parse("add", "--help") == help(of: .add))
    #expect(
      try parse("show", "x", "-q", "no good", "-h", queue: "no good") == help(of: .show))
    #expect(try parse("status", "-h") == help(of: .status))
    #expect(try parse("help", "--man") == help(.manual))
    #expect(
      try parse("completion", "zsh", queue: "no good") == .command(CompletionCommand.script(.zsh)))
    #expect(
      try parse("completion", "--", "words", "-q", "")
        == .command(CompletionCommand.words([Bytes("-q"), []])))
    #expect(try parse("--version") == help(.version))
    #expect(try parse("list", "--version") == help(.version))
  }

  // Fails if a NUL byte, at which an argument of a program would end, is accepted.
  @Test("a NUL byte in an argument is refused")
  func nulBytes() throws {
    for (words, message) in [
      (["add", "a\0b"], "add: an argument cannot contain a NUL byte"),
      (["add", "-na\0b", "c"], "--name a^@b: a value cannot contain a NUL byte"),
    ] {
      let failure = #expect(throws: Failure.self, "\(words)") {
        try Invocation.parse(words.map { Bytes($0.utf8) })
      }
      #expect(failure.map { "\($0.what): \($0.why)" } == message)
      #expect(failure?.code == .cannot && failure?.next.isEmpty == false, "\(words)")
    }
  }

  // Fails if the command line accepts a number that the journal's reader refuses: every command on
  // that queue would then fail. Remove the bound from `fault(in:_:)`.
  @Test("no number on a command line is larger than the journal can hold")
  func numbers() throws {
    var taken = 0
    func expectRead(_ entry: Entry?, _ number: String) {
      taken += 1
      #expect(entry.map { lost(in: $0) } == [], "\(number)")
    }
    let powers = (0...18).map { "1" + String(repeating: "0", count: $0) }
    for number in powers + ["36500d", "64", "4294967296", "9007199254740992", "\(Int.max)"] {
      for option in ["--retries", "--timeout", "--retry-delay"] {
        // Without retries, a delay is refused.
        let line = option == "--retry-delay" ? "--retries=1" : "--first"
        let add = command("add", line, option, number, "c", as: AddCommand.self)
        guard let add else { continue }
        let limits = add.job.limits()
        expectRead(.job(1, spec("c", JobSpec.Details(limits: limits))), number)
        // Every retry is used, then a retry is requested, and every one is used again.
        var status = JobStatus()
        status.attempts = 2 * (1 + min(limits.retries, Int(UInt32.max)))
        status.retriesUsed = limits.retries
        expectRead(.status(1, status), number)
      }
      if let set = command("set", "keep", number, as: SetCommand.self) {
        var properties = QueueProperties()
        properties.settings.keep = set.value.flatMap { Int(decimal: $0) }
        expectRead(.queue(properties), number)
      }
      if let cancel = command("cancel", "1", "--signal", number, as: CancelCommand.self) {
        let running = jobAfter(spec(), .running)?.status
        let status = running?.requested(cancel.signal ?? SIGTERM, at: moment())
        expectRead(status.map { .status(1, $0) }, number)
      }
      if let move = command("move", number, "--before", number, as: MoveCommand.self) {
        // What is no id is a label, and selects no job.
        guard let id = JobID.parse(Bytes(number.utf8)) else { continue }
        #expect(move.jobs == JobSelection(id))
        expectRead(JobStatus().moved(to: Rank(id)).map { .status(id, $0) }, number)
      }
    }
    #expect(taken > 80)
  }

  // Fails if advice omits the queue where a command without it means another one: check only for
  // the standard name in `option(for:variable:)`.
  @Test("advice for the standard queue names it when SERIALQ_QUEUE is another")
  func advisedQueue() throws {
    for variable in [nil, "", "default", "video", "no good"] {
      for name in ["default", "video"] {
        let option = QueueName.option(for: name, variable: variable.map { Bytes($0.utf8) })
        let words = ["status"] + option.split(separator: " ").map(String.init)
        let meant = try Invocation.parse(
          words.map { Bytes($0.utf8) }, queueVariable: variable.map { Bytes($0.utf8) })
        #expect(
          meant == .command(StatusCommand(queues: .one(name), json: false)),
          "\(words), \(variable ?? "nil")")
        let isLeftOut = name == "default" && [nil, "", "default"].contains(variable)
        #expect(option.isEmpty == isLeftOut)
      }
    }
  }
}

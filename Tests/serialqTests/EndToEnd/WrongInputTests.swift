@testable import SerialqQueue
@testable import SerialqSystem
import Testing

/// Invalid calls are refused with one message, and change nothing.
@Suite final class WrongInputTests: SceneSuite {
  struct Mistake {
    var words: [String]
    /// The start of the message, after `serialq: `.
    var message: String

    init(_ words: String..., message: String) {
      self.words = words
      self.message = message
    }
  }

  /// `InvocationTests` has those that are found in the words alone.
  static let mistakes = [
    Mistake("add", "-C", "", "true", message: "--directory '': a directory's name cannot be empty"),
    Mistake("add", "-q", "\u{1B}[2J", "true", message: "--queue ^[[2J: a queue's name has only"),
    Mistake("add", "-f", "missing", message: "reading missing: No such file or directory"),
    Mistake("add", "-f", "empty", message: "empty: no command in it"),
    Mistake("add", "-f", "comments", message: "comments: no command in it"),
    Mistake("add", "-f", "nul", message: "nul, line 2: a command cannot contain a NUL byte"),
    Mistake(
      "add", "-f", "quotes", message: "quotes, line 2: a quote (') is open at the end of the"),
    Mistake(
      "run", "-f", "quotes", message: "quotes, line 2: a quote (') is open at the end of the"),
    Mistake("add", "-f", ".", message: "reading .: Is a directory"),
    Mistake("add", "-f", "-", message: "standard input: no command in it"),
    Mistake("run", "-f", "missing", message: "reading missing: No such file or directory"),
    Mistake("rm", "1", message: "rm: unknown command; did you mean cancel (waiting) or clean"),
    Mistake("stop", message: "stop: unknown command; did you mean cancel (job) or pause (queue)?"),
    Mistake("tail", "-f", message: "tail: unknown command; did you mean log -f?"),
    Mistake("enqueue", "x", message: "enqueue: unknown command; did you mean add?"),
    Mistake("suspend", message: "suspend: unknown command; did you mean pause --now?"),
    Mistake("unpause", message: "unpause: unknown command; did you mean resume?"),
    Mistake("reset", message: "reset: unknown command; did you mean cancel --all and then clean"),
    Mistake("config", message: "config: unknown command; did you mean set?"),
    Mistake("-l", message: "-l: unknown option; did you mean list?"),
    Mistake(
      "-r", "1", message: "-r: unknown option; did you mean cancel (waiting) or clean (done)?"),
    Mistake("-S", "2", message: "-S: unknown option of status; did you mean another --queue"),
    Mistake("-V", message: "-V: unknown option of status; did you mean --version?"),
    Mistake(
      "add", "--label", "a", "x", message: "--label: unknown option of add; did you mean --n"),
    Mistake("add", "--dir=a", "x", message: "--dir: unknown option of add; did you mean --direct"),
    Mistake(
      "add", "--delay", "5", "x", message: "--delay: unknown option of add; did you mean --r"),
    Mistake(
      "add", "--priority", "5", message: "--priority: unknown option of add; did you mean --f"),
    Mistake("list", "-g", "a", message: "-g: unknown option of list; did you mean --queue?"),
    Mistake("list", "--group=a", message: "--group: unknown option of list; did you mean --queue?"),
    Mistake(
      "list", "--running", message: "--running: unknown option of list; did you mean --state"),
    Mistake("log", "--tail", "5", message: "--tail: unknown option of log; did you mean --lines"),
    Mistake("add", "-n", "12", "x", message: "--name 12: a label cannot be a number or a range"),
    Mistake("run", "-n", "1-3", "x", message: "--name 1-3: a label cannot be a number or a range"),
    Mistake("edit", "1", "-n", "1,2", message: "--name 1,2: a label cannot be a number or a range"),
    Mistake("add", "echo \"open", message: "echo \"open: a quote (\") is open at its end"),
    Mistake("run", "-c", "echo 'open", message: "echo 'open: a quote (') is open at its end"),
    Mistake("edit", "1", "-c", "echo 'open", message: "echo 'open: a quote (') is open at its end"),
    Mistake("", message: "'': unknown command"),
    Mistake("--jsn", message: "--jsn: unknown option of status; did you mean --json?"),
    Mistake("list", "--state", "failed,runing", message: "--state failed,runing: not one of wait"),
    Mistake("list", "--state", "failed,", message: "--state failed,: not one of waiting, running"),
    Mistake("list", "extra", message: "extra: not a job id, and no job of queue default has"),
    Mistake("list", "2-9", message: "jobs 2-9: queue default has no such job"),
    Mistake("show", "2", message: "job 2: queue default has no such job; its last job is 1"),
    Mistake(
      "show", "one", message: "one: not a job id, and no job of queue default has this label"),
    Mistake("show", "99999999999999999999", message: "99999999999999999999: not a job id"),
    Mistake("show", "1", "2", message: "job 2: queue default has no such job"),
    Mistake("show", "-q", "other", "1", message: "queue other: it has no jobs"),
    Mistake("log", message: "log: queue default has no job that has run"),
    Mistake("log", "7", message: "job 7: queue default has no such job"),
    Mistake("add", "--timeout", "1x", "true", message: "--timeout 1x: not a duration"),
    Mistake("cancel", "--all", "--running", message: "--running: cannot be combined with --all"),
    Mistake("cancel", "--signal", "FOO", "1", message: "--signal FOO: not a signal"),
    Mistake("cancel", "2", message: "job 2: queue default has no such job; its last job is 1"),
    Mistake("cancel", "-q", "other", "1", message: "queue other: it has no jobs"),
    Mistake("retry", "1", message: "job 1: it is already waiting"),
    Mistake("retry", "3-1", message: "3-1: not a job id"),
    Mistake("move", "1", "--before", "1", message: "job 1: it cannot be put before itself"),
    Mistake("move", "1", "--after", "1-1", message: "job 1: it cannot be put after itself"),
    Mistake("move", "1", "--before", "7", message: "--before job 7: queue default has no such job"),
    Mistake("edit", "1", "--unconditional", "--if-ok", message: "--unconditional: cannot be"),
    Mistake("edit", "1", "--after", "none", message: "--after none: not a job id"),
    Mistake("add", "--after", "none", "true", message: "--after none: not a job id"),
    Mistake("add", "--after", "7", "true", message: "--after job 7: queue default has no such"),
    Mistake("edit", "7", message: "job 7: queue default has no such job"),
    Mistake("pause", "--all", "-q", "x", message: "--all: cannot be combined with --queue"),
    Mistake("resume", "-q", "other", message: "queue other: it has no jobs"),
    Mistake("ack", "1", message: "job 1: it did not fail and was not skipped: it waits"),
    Mistake("clean", "1", message: "job 1: it has not finished: it waits"),
    Mistake("clean", "7", message: "job 7: queue default has no such job"),
    Mistake("clean", "--all", "--keep", "1", "1", message: "1: a job cannot be combined with --k"),
    Mistake("clean", "--keep", "0", message: "--keep 0: not a number above 0"),
    Mistake("clean", "--older-than", "x", message: "--older-than x: not a duration"),
    Mistake("clean", "--all", "--failed", message: "--all: cannot be combined with --failed"),
    Mistake(
      "set", "on-failur", "stop",
      message: """
        on-failur: not one of on-failure, on-finish, on-idle, on-ask, keep, shell, log-limit, tty, \
        launcher; did you mean on-failure?
        """),
    Mistake("set", "keep", "-1", message: "-1: keep is a number above 0, or all"),
    Mistake("set", "on-failure", "explode", message: "explode: on-failure is continue or stop"),
    Mistake("set", "keep", "0", message: "0: keep is a number above 0, or all"),
    Mistake("set", "shell", "bash", message: "bash: shell is an absolute path, or default"),
    Mistake("set", "shell", "/tmp", message: "/tmp: not a program that you can execute"),
    Mistake("set", "log-limit", "1023", message: "1023: log-limit is a size of at least 1K"),
    Mistake("set", "log-limit", "10MB", message: "10MB: log-limit is a size of at least 1K"),
    Mistake("add", "-i", "-", "-f", "-", message: "--input -: cannot be combined with --file -"),
    Mistake("add", "-i", "-", "--unique", "x", message: "--input -: cannot be combined with"),
    Mistake("add", "-i", ".", "cat", message: "the input .: it is not a regular file"),
    Mistake("add", "-i", "/dev/stdin", "cat", message: "the input /dev/stdin: it is not"),
    Mistake("add", "--input=", "cat", message: "--input '': a file's name cannot be empty"),
    Mistake("set", "tty", "yes", message: "yes: tty is on or off; did you mean on?"),
    Mistake("set", "launcher", "a\nb", message: "launcher: takes one line"),
    Mistake("add", "-t", "-i", "empty", "cat", message: "--tty: cannot be combined with --input"),
    Mistake("edit", "--tty", "--no-tty", "1", message: "--no-tty: cannot be combined with --tty"),
    Mistake("queues", "--remove", "other", message: "queue other: no such queue"),
    Mistake("queues", "--remove", "default", message: "queue default: it has 1 job"),
    Mistake("queues", "--remove", "a/b", message: "--remove a/b: a queue's name has only"),
    Mistake("queues", "--remove", "a", "--json", message: "--remove: cannot be combined"),
    Mistake("wait", "7", message: "job 7: queue default has no such job"),
    Mistake("background-runner", message: "background-runner: unknown command"),
  ]

  // Fails if a mistake is detected only after a write, or reported on standard output.
  @Test("a mistake is reported in one message, and the queue is unchanged")
  func mistake() throws {
    try write([], to: scene.path("empty"))
    try write(Bytes("# nothing\n\n  \n"), to: scene.path("comments"))
    try write(Bytes("true\na\u{0}b\n"), to: scene.path("nul"))
    try write(Bytes("true\necho 'a\nb'\n"), to: scene.path("quotes"))
    try scene.add("true")
    let before = try scene.journal()
    for mistake in Self.mistakes {
      expectRefusal(try scene.serialq(mistake.words), mistake.message)
      #expect(try scene.journal() == before, "\(mistake.words)")
      #expect(try Spool(path: scene.spool).queueNames() == ["default"], "\(mistake.words)")
    }
  }

  // Fails if the variable is used without validation: its value becomes a folder's name.
  @Test("a queue named by a bad variable is refused")
  func badVariable() throws {
    for name in [Bytes("../up"), Bytes(".x"), Bytes("a b"), [0xFF], Bytes("x") + Bytes("/y")] {
      let outcome = try scene.serialq("add", "--no-start", "true") {
        $0.environment.append(Bytes("SERIALQ_QUEUE=") + name)
      }
      expectRefusal(outcome, "SERIALQ_QUEUE=")
    }
    #expect(try FileSystem.status(of: scene.spool) == nil)
  }

  #if os(Linux)
    // Fails if a failed write of the result is not reported, or changes are where none were made.
    @Test("a full standard output is reported, and so is the job that is queued anyway")
    func fullOutput() throws {
      try scene.add("echo text")
      for command in ["list", "status", "list --json", "show 1", "help", "--version"] {
        let outcome = try scene.script("serialq \(command) >/dev/full")
        expectRefusal(
          outcome,
          """
          cannot write to standard output: No space left on device
          The output is incomplete.

          """)
      }
      let added = try scene.script("serialq add --no-start true >/dev/full")
      expectRefusal(added, "cannot write to standard output: No space left on device")
      #expect(added.errorText.contains("queued"))
      #expect(try scene.states() == [.waiting, .waiting])
    }
  #endif
}

/// One message of the form `serialq: what: why`, a line with the next step, and nothing else.
func expectRefusal(
  _ outcome: Outcome, _ message: String, sourceLocation: SourceLocation = #_sourceLocation
) {
  let lines = outcome.errorText.split(separator: "\n", omittingEmptySubsequences: false)
  #expect(outcome.code == 125, "\(outcome.errorText)", sourceLocation: sourceLocation)
  #expect(outcome.output.isEmpty, sourceLocation: sourceLocation)
  #expect(
    outcome.errorText.hasPrefix("serialq: \(message)"), "\(outcome.errorText)",
    sourceLocation: sourceLocation)
  #expect(
    lines.count == 3 && lines[1] != "" && lines[2] == "", "\(outcome.errorText)",
    sourceLocation: sourceLocation)
}

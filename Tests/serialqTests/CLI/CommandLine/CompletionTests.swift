@testable import SerialqQueue
import SerialqSystem
import Testing

@testable import SerialqCLI

/// The candidates for a word, before queues and jobs are read.
@Suite struct CompletionTests {
  private func completion(_ words: String...) -> Completion {
    Completion(words.map { Bytes($0.utf8) })
  }

  private func words(_ words: String...) -> [String]? {
    guard case .words(let found) = Completion(words.map { Bytes($0.utf8) }).wanted else {
      return nil
    }
    return found.map(\.word)
  }

  // Fails if a command is missing, or is offered where none is allowed.
  @Test("the first word is a command or an option of status")
  func commands() {
    #expect(words("") == CommandName.allCases.map(\.rawValue))
    #expect(words("wa") == words(""))
    #expect(words() == words(""))
    #expect(words("help", "") == words(""))
    #expect(words("help", "add", "") == [])
    #expect(words("-")?.prefix(2) == ["-q", "--queue"])
    #expect(words("-q", "v", "") == words(""))
    #expect(words("-q", "v", "help", "add", "") == [])
    #expect(words("frobnicate", "") == [])
  }

  // Fails if an option is missing, or a used one that cannot be repeated is offered again.
  @Test("options are those of the command, each once unless it can be repeated")
  func options() throws {
    for command in CommandTable.commands {
      let offered = try #require(words(command.name.rawValue, "--"))
      for option in command.allOptions {
        #expect(offered.contains(option.long))
        if let short = option.short { #expect(offered.contains("-\(short)")) }
      }
    }
    let offered = try #require(words("add", "-q", "v", "-eA=1", "--if-ok", "-"))
    #expect(!offered.contains("--queue") && !offered.contains("-q"))
    #expect(!offered.contains("--if-ok") && offered.contains("--env"))
    #expect(words("ls", "--st")?.contains("--state") == true)
    #expect(words("log", "--", "-") == nil)
  }

  // Fails if a value counts as an operand, in any notation.
  @Test("the value of an option is completed by its type, in the next word or in the same")
  func values() {
    #expect(completion("wait", "-q", "").wanted == .queues)
    #expect(completion("wait", "--queue", "v").wanted == .queues)
    #expect(completion("wait", "--queue=v") == .init(wanted: .queues, kept: "--queue="))
    #expect(completion("log", "-fqv") == .init(wanted: .queues, kept: "-fq"))
    #expect(completion("-q", "v").wanted == .queues)
    #expect(completion("add", "-f", "x").wanted == .files)
    #expect(completion("add", "--file=x") == .init(wanted: .files, kept: "--file="))
    #expect(completion("run", "-C", "x").wanted == .directories)
    #expect(words("list", "--state", "") == ListCommand.states)
    let others = ListCommand.states.filter { $0 != "failed" && $0 != "killed" }.map {
      Completion.Candidate(word: $0)
    }
    #expect(
      completion("list", "--state", "failed,killed,su")
        == .init(wanted: .words(others), kept: "failed,killed,"))
    #expect(
      completion("list", "--state=failed,killed,")
        == .init(wanted: .words(others), kept: "--state=failed,killed,"))
    #expect(words("cancel", "--signal", "T")?.contains("SIGTERM") == true)
    #expect(
      completion("move", "3", "--before", "").wanted
        == .jobs(.move))
    for option in ["--timeout", "--retries", "-n", "-e", "-c"] {
      #expect(words("add", option, "") == [], "\(option)")
    }
  }

  // Fails if options are offered inside a job's command, or its words are miscounted.
  @Test("a job's command is completed as a separate command")
  func jobCommands() {
    #expect(completion("add", "ma").wanted == .command(2))
    #expect(completion("add", "-q", "v", "make", "-j").wanted == .command(4))
    #expect(completion("add", "--", "make", "--q").wanted == .command(3))
    #expect(completion("add", "--", "").wanted == .command(3))
    #expect(completion("run", "ls", "").wanted == .command(2))
    #expect(completion("add", "-c", "x", "").wanted == .command(4))
    #expect(completion("edit", "1", "-n", "x", "").wanted == .command(5))
    #expect(completion("edit", "1", "make", "-j").wanted == .command(3))
  }

  // Fails if the ids of another queue are offered.
  @Test("ids are those of the queue named before them")
  func ids() {
    #expect(
      completion("wait", "")
        == .init(wanted: .jobs(.wait), kept: ""))
    #expect(
      completion("wait", "-qv", "1", "")
        == .init(wanted: .jobs(.wait), queue: "v"))
    #expect(
      completion("wait", "--queue=v", "")
        == .init(wanted: .jobs(.wait), queue: "v"))
    #expect(
      completion("wait", "-q", "v", "")
        == .init(wanted: .jobs(.wait), queue: "v"))
    #expect(
      completion("show", "1", "").wanted == .jobs(.show))
    #expect(
      completion("edit", "").wanted == .jobs(.edit))
    #expect(
      completion("add", "--after", "").wanted == .jobs(.add))
  }

  // Fails if the settings are not those that `set` accepts.
  @Test("settings and their choices are completed")
  func settings() {
    let settings = [
      "on-failure", "on-finish", "on-idle", "on-ask", "keep", "shell", "log-limit", "tty",
      "launcher",
    ]
    #expect(words("set", "") == settings)
    #expect(words("set", "shell", "") == ["default"])
    #expect(words("set", "log-limit", "") == ["none"])
    #expect(words("set", "on-failure", "") == ["continue", "stop"])
    #expect(words("set", "tty", "") == ["on", "off"])
    #expect(words("set", "on-finish", "") == [])
    #expect(words("set", "on-failure", "stop", "") == [])
    #expect(words("completion", "") == ["bash", "zsh", "fish"])
  }

  // Fails if a job is offered to a command that would refuse it.
  @Test("each command is offered the jobs that it accepts")
  func jobs() throws {
    for state in JobState.allCases {
      let job = try #require(jobAfter(spec(), state))
      let names: [CommandName] = [.wait, .ack, .cancel, .retry, .move, .edit]
      let takers = names.filter { $0.type.takes(job) }
      switch state {
      case .waiting: #expect(takers == [.wait, .cancel, .move, .edit])
      case .running: #expect(takers == [.wait, .cancel])
      case .succeeded, .cancelled: #expect(takers == [.retry, .edit])
      case .failed, .killed, .timedOut, .interrupted, .skipped:
        #expect(takers == [.ack, .retry, .edit])
      }
    }
  }
}

extension Completion {
  fileprivate init(wanted: Wanted, kept: String = "", queue: String? = nil) {
    self.init([])
    self.wanted = wanted
    self.kept = Bytes(kept.utf8)
    self.queue = queue.map { Bytes($0.utf8) }
  }
}

@testable import SerialqQueue
import SerialqSystem
import TestSupport

/// A command that writes, and the queue on which it runs.
struct FaultCase: CustomStringConvertible, Sendable {
  var description: String
  /// Calls that precede it, without faults.
  var before: [[String]] = []
  /// A change to the journal that precedes it.
  var damage: Damage = .none
  var words: [String]
  var input = ""
  var variables: [String] = []

  enum Damage { case none, tornEnd, brokenLine }

  /// The queue with which most cases begin: 1 succeeded, 2 and 3 failed, 4 to 6 wait.
  private static let usual = [
    ["run", "-c", "true"], ["run", "-c", "false"], ["run", "-c", "exit 3"],
    ["add", "--no-start", "-c", "echo 4 >>ran"], ["add", "--no-start", "-c", "echo 5 >>ran"],
    ["add", "--no-start", "-c", "echo 6 >>ran"],
  ]
  private static let paused = usual + [["pause"]]

  /// Each command, and each path through it, that starts no other process.
  static let all: [FaultCase] = [
    FaultCase("add to nothing", [], "add", "--no-start", "-c", "echo 1 >>ran"),
    FaultCase("add", usual, "add", "--no-start", "-c", "echo 7 >>ran"),
    FaultCase(
      "add, with an environment and a label", usual, "add", "--no-start", "-e", "NEW=1", "-n", "x",
      "-c", "true"),
    FaultCase(
      "add a file, first", usual, "add", "--no-start", "--first", "-f", "-",
      input: "echo 7 >>ran\necho 8 >>ran\necho 9 >>ran\n"),
    FaultCase(
      "add one that waits already", usual, "add", "--no-start", "--unique", "-c", "echo 5 >>ran"),
    FaultCase("add to a paused queue", paused, "add", "-c", "true"),
    FaultCase(
      "add after a torn line", usual, damage: .tornEnd, "add", "--no-start", "-c", "true"),
    FaultCase(
      "add, with a copy of the input", usual, "add", "--no-start", "-i", "-", "-c", "cat",
      input: "data\n"),
    FaultCase("cancel", usual, "cancel", "4", "6"),
    FaultCase("retry", paused, "retry", "--failed"),
    FaultCase("ack", usual, "ack", "2"),
    FaultCase("move", usual, "move", "6", "--first"),
    FaultCase("edit", usual, "edit", "5", variables: ["EDITOR=printf 'echo five\\n' >"]),
    FaultCase("pause", usual, "pause"),
    FaultCase("resume", [["pause"]], "resume"),
    FaultCase("set", usual, "set", "keep", "7"),
    FaultCase("set on-finish", usual, "set", "on-finish", "true", variables: ["HOOK=1"]),
    FaultCase("set on-idle", usual, "set", "on-idle", "true", variables: ["HOOK=1"]),
    FaultCase("set on-ask", usual, "set", "on-ask", "true", variables: ["HOOK=1"]),
    FaultCase("set tty", usual, "set", "tty", "on"),
    FaultCase("set launcher", usual, "set", "launcher", "env"),
    FaultCase("add, with a terminal", usual, "add", "--no-start", "-t", "-c", "true"),
    FaultCase("edit, with a terminal", usual, "edit", "5", "--tty"),
    FaultCase("clean", usual, "clean", "--all"),
    FaultCase("clean a damaged journal", usual, damage: .brokenLine, "clean", "--keep", "1"),
    FaultCase("add after another job", usual, "add", "--no-start", "--after", "4", "-c", "true"),
    FaultCase(
      "edit a finished job, with options", paused, "edit", "2", "-e", "NEW=1", "--after", "1"),
    FaultCase("set keep, at once", usual, "set", "keep", "1"),
    FaultCase("remove a queue", [["set", "keep", "7"]], "queues", "--remove", "default"),
    FaultCase("pause --now", usual, "pause", "--now"),
  ]

  /// The cases of a short run: a few, one of each kind.
  static let tried = isLong ? all : [0, 2, 6, 7, 23].map { all[$0] }

  /// A case in which only job 4 waits, in a queue with this launcher if one is named.
  init(_ description: String, launcher: String? = nil, _ words: String...) {
    self.description = description
    before = Self.usual.prefix(4) + (launcher.map { [["set", "launcher", $0]] } ?? [])
    self.words = words
  }

  private init(
    _ description: String, _ before: [[String]], damage: Damage = .none, _ words: String...,
    input: String = "", variables: [String] = []
  ) {
    self.description = description
    self.before = before
    self.damage = damage
    self.words = words
    self.input = input
    self.variables = variables
  }

  /// Creates the queue for the command, and saves it for every run.
  func prepare(_ bench: FaultBench) throws {
    for words in before { _ = try bench.scene.serialq(words.map { Bytes($0.utf8) }) }
    let journal = try bench.scene.queueFolder().journal
    switch damage {
    case .none: break
    case .tornEnd: try write(content(journal).dropLast(20), to: journal)
    case .brokenLine:
      var text = try content(journal)
      // Inside the first line, which adds job 1.
      text[60] ^= 1
      try write(text, to: journal)
    }
    try bench.keep()
  }

  /// Runs the command on its queue.
  func run(_ bench: FaultBench, _ fault: Fault? = nil) throws -> Outcome {
    try bench.restore()
    return try bench.run(words, input: input, variables: variables, fault: fault)
  }
}

import SerialqSystem

package enum Command: Hashable, Sendable {
  /// A command line for the shell of the queue.
  case shell(Bytes)
  /// A program and its arguments, passed without a shell.
  case arguments([Bytes])

  /// The shell for command lines, unless the queue has another.
  package static let standardShell = Bytes("/bin/sh")
}

extension Command {
  /// Nil for a program.
  package var line: Bytes? { if case .shell(let line) = self { line } else { nil } }

  /// Nil for a command line.
  package var words: [Bytes]? { if case .arguments(let words) = self { words } else { nil } }

  mutating func code(_ coder: inout LineCoder) throws(FlatObjectError) {
    var (line, words) = (line, words)
    try coder.bytes("shell", &line)
    try coder.list("command", &words)
    guard let command = line.map(Command.shell) ?? words.map(Command.arguments) else {
      throw .malformed
    }
    self = command
  }
}

extension ShellQuote {
  /// Formats a job's command on one line.
  package static func command(_ command: Command) -> String {
    switch command {
    case .arguments(let words): arguments(words)
    case .shell(let line): self.line(line)
    }
  }
}

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
  func encode(to json: inout JSONWriter) {
    switch self {
    case .shell(let line): json.member("shell", line)
    case .arguments(let words): json.member("command", words)
    }
  }

  init(from object: inout FlatObject) throws(FlatObjectError) {
    if let line = try object.optionalBytes("shell") {
      self = .shell(line)
    } else {
      self = .arguments(try object.list("command"))
    }
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

import SerialqSystem

extension ShellQuote {
  /// Formats a job's command on one line.
  package static func command(_ command: Command) -> String {
    switch command {
    case .arguments(let words): arguments(words)
    case .shell(let line): PasteCheck.isSafe(line) ? line.text : "sh -c \(word(line))"
    }
  }
}

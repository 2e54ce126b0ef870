/// Quotes commands so that every POSIX shell, and zsh, runs the same bytes when they are pasted.
///
/// The output is also safe for a terminal: control characters are escaped.
package enum ShellQuote {
  /// Quotes a program and its arguments on one line.
  package static func arguments(_ words: [Bytes]) -> String {
    // A substitution loses newlines at its end: those of a word then stand in quotes in it.
    if words.contains(where: { $0.last == UInt8(ascii: "\n") }) {
      return "eval \(printed(script(words)))"
    }
    let line = words.enumerated().map { index, bytes in
      isBare(bytes, at: index) ? bytes.text : quoted(bytes)
    }.joined(separator: " ")
    return (isTakenByShell(words) ? "env " : "") + line
  }

  /// Quotes a program and its arguments for any `/bin/sh`.
  ///
  /// Not for display: control characters stay unescaped.
  package static func script(_ words: [Bytes]) -> Bytes {
    let line = words.enumerated().map { index, bytes in
      isBare(bytes, at: index) ? bytes : singleQuoted(bytes)
    }.joined(separator: [UInt8(ascii: " ")])
    return Bytes(isTakenByShell(words) ? "env " : "") + line
  }

  /// A command line for `/bin/sh`: as it is, or an argument of `sh -c` if it cannot be printed.
  package static func line(_ line: Bytes) -> String {
    TextPiece.arePrintable(line) ? line.text : arguments([Bytes("sh"), Bytes("-c"), line])
  }

  /// Quotes a word; ends it with line ends if `bytes` ends with some.
  package static func word(_ bytes: Bytes) -> String {
    isBare(bytes) ? bytes.text : quoted(bytes)
  }

  /// Whether this word of a command needs no quotes.
  private static func isBare(_ bytes: Bytes, at index: Int) -> Bool {
    // Whether the shell would not read the first word as a program's name.
    let isSyntax = bytes.contains(UInt8(ascii: "=")) || reserved.contains(bytes.text)
    return isBare(bytes) && !(index == 0 && isSyntax)
  }

  /// Whether a shell would not start a program for this command, even if the name is quoted.
  ///
  /// bash reads `%1` as a job; `cd /` is no program, so the job fails; and a built-in echo may
  /// interpret backslashes, which the program does not.
  private static func isTakenByShell(_ words: [Bytes]) -> Bool {
    guard let name = words.first else { return false }
    if name.first == UInt8(ascii: "%") || builtins.contains(name.text) { return true }
    let backslash = UInt8(ascii: "\\")
    return name == Bytes("echo") && words.contains { $0.contains(backslash) }
  }

  /// Names that shells define and that are seldom programs too.
  private static let builtins: Set<String> = [
    ".", ":", "alias", "bg", "bind", "break", "builtin", "cd", "command", "continue", "declare",
    "dirs", "eval", "exec", "exit", "export", "fc", "fg", "getopts", "hash", "history", "jobs",
    "let", "local", "logout", "popd", "pushd", "read", "readonly", "return", "set", "shift",
    "shopt", "source", "times", "trap", "type", "typeset", "ulimit", "umask", "unalias", "unset",
    "wait",
  ]

  /// Whether the name of a program that was not found means something to a shell: `cd`, `FOO=1`,
  /// `ls | wc`.
  package static func meansMoreToShell(_ name: Bytes) -> Bool {
    builtins.contains(name.text) || name.contains { Bytes(" \t\n|;&<>()$`=").contains($0) }
  }

  /// Whether every shell reads `bytes` literally.
  private static func isBare(_ bytes: Bytes) -> Bool {
    guard let first = bytes.first else { return false }
    // zsh expands `=ls` to the path of ls.
    guard first != UInt8(ascii: "=") else { return false }
    return bytes.allSatisfy(safe.contains)
  }

  private static let safe = Set(
    Bytes("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_./:@%+,-=")
  )

  /// Reserved words of bash, zsh and ksh; quoting makes them names.
  private static let reserved: Set<String> = [
    "case", "coproc", "do", "done", "elif", "else", "end", "esac", "fi", "for", "foreach",
    "function", "if", "in", "namespace", "nocorrect", "repeat", "select", "then", "time", "until",
    "while",
  ]

  private static func quoted(_ bytes: Bytes) -> String {
    if TextPiece.arePrintable(bytes) { return singleQuoted(bytes).text }
    let end = Bytes(bytes.reversed().prefix { $0 == UInt8(ascii: "\n") })
    let start = Bytes(bytes.dropLast(end.count))
    return (start.isEmpty ? "" : printed(start)) + (end.isEmpty ? "" : singleQuoted(end).text)
  }

  private static func singleQuoted(_ bytes: Bytes) -> Bytes {
    let parts = bytes.split(separator: UInt8(ascii: "'"), omittingEmptySubsequences: false)
    return Bytes("'") + parts.joined(separator: Bytes(#"'\''"#)) + Bytes("'")
  }

  /// A substitution of what printf prints; not of newlines at the end.
  private static func printed(_ bytes: Bytes) -> String {
    var format = ""
    for piece in TextPiece.pieces(of: bytes) {
      switch piece {
      case .printable("'"), .printable("!"), .invalid:
        // Octal: history expansion reads `!` in double quotes.
        format += piece.bytes.map(octal).joined()
      case .printable("-") where format.isEmpty: format += octal(UInt8(ascii: "-"))
      case .printable("\\"): format += #"\\"#
      case .printable("%"): format += "%%"
      case .printable(let scalar): format.unicodeScalars.append(scalar)
      case .unprintable("\n"): format += #"\n"#
      case .unprintable("\t"): format += #"\t"#
      case .unprintable: format += piece.bytes.map(octal).joined()
      }
    }
    return "\"$(printf '\(format)')\""
  }

  /// Always three digits, so that a following digit is not read as part of the escape.
  private static func octal(_ byte: UInt8) -> String { "\\" + String(byte, digits: 3, radix: 8) }
}

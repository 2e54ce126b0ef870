/// Writes commands so that pasting them into bash, zsh or ksh runs the same bytes.
///
/// What it writes is safe for a terminal too: whatever would steer it is escaped.
package enum ShellQuote {
  /// A program and its arguments.
  package static func arguments(_ words: [Bytes]) -> String {
    let line = words.enumerated().map { index, bytes in
      isBare(bytes, at: index) ? bytes.text : quoted(bytes)
    }.joined(separator: " ")
    return (isTakenForJob(words) ? "env " : "") + line
  }

  /// A program and its arguments as a command line for every `/bin/sh`.
  ///
  /// Not to be shown: `$'…'`, which writes what would steer a terminal, is not known to all of them
  /// (dash), so each byte stands there as it is.
  package static func script(_ words: [Bytes]) -> Bytes {
    let line = words.enumerated().map { index, bytes in
      isBare(bytes, at: index) ? bytes : singleQuoted(bytes)
    }.joined(separator: [UInt8(ascii: " ")])
    return Bytes(isTakenForJob(words) ? "env " : "") + line
  }

  /// One argument.
  package static func word(_ bytes: Bytes) -> String {
    isBare(bytes) ? bytes.text : quoted(bytes)
  }

  /// Whether it can stand there as it is, as this word of a command.
  private static func isBare(_ bytes: Bytes, at index: Int) -> Bool {
    isBare(bytes) && !(index == 0 && isTakenForSyntax(bytes))
  }

  /// Whether bash takes the program's name, even a quoted `%1`, for one of its own jobs.
  private static func isTakenForJob(_ words: [Bytes]) -> Bool {
    words.first?.first == UInt8(ascii: "%")
  }

  /// Whether no shell sees anything but itself in `bytes`.
  private static func isBare(_ bytes: Bytes) -> Bool {
    guard let first = bytes.first else { return false }
    // zsh reads `=ls` as the path of ls.
    guard first != UInt8(ascii: "=") else { return false }
    return bytes.allSatisfy(safe.contains)
  }

  private static let safe = Set(
    Bytes("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_./:@%+,-=")
  )

  /// Whether the shell would not take the first word of a command for a program's name.
  private static func isTakenForSyntax(_ bytes: Bytes) -> Bool {
    bytes.contains(UInt8(ascii: "=")) || reserved.contains(bytes.text)
  }

  /// The reserved words of bash, zsh and ksh that look like names; quoted, they are names.
  private static let reserved: Set<String> = [
    "case", "coproc", "do", "done", "elif", "else", "end", "esac", "fi", "for", "foreach",
    "function", "if", "in", "namespace", "nocorrect", "repeat", "select", "then", "time", "until",
    "while",
  ]

  private static func quoted(_ bytes: Bytes) -> String {
    TextPiece.arePrintable(bytes)
      ? singleQuoted(bytes).text : dollarQuoted(TextPiece.pieces(of: bytes))
  }

  private static func singleQuoted(_ bytes: Bytes) -> Bytes {
    let parts = bytes.split(separator: UInt8(ascii: "'"), omittingEmptySubsequences: false)
    return Bytes("'") + parts.joined(separator: Bytes(#"'\''"#)) + Bytes("'")
  }

  private static func dollarQuoted(_ pieces: [TextPiece]) -> String {
    var quoted = "$'"
    for piece in pieces {
      switch piece {
      case .printable("'"), .printable("\\"), .invalid:
        // By number: history expansion could take `\'` for the end of the quotes.
        quoted += piece.bytes.map(octal).joined()
      case .printable(let scalar): quoted.unicodeScalars.append(scalar)
      case .unprintable("\n"): quoted += #"\n"#
      case .unprintable("\t"): quoted += #"\t"#
      case .unprintable: quoted += piece.bytes.map(octal).joined()
      }
    }
    return quoted + "'"
  }

  /// Always three digits, so that a digit which follows is not taken for a fourth.
  private static func octal(_ byte: UInt8) -> String {
    let digits = String(byte, radix: 8)
    return "\\" + String(repeating: "0", count: 3 - digits.count) + digits
  }
}

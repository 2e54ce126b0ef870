/// Quotes commands so that bash, zsh and ksh run the same bytes when they are pasted.
///
/// The output is also safe for a terminal: control characters are escaped.
package enum ShellQuote {
  /// Quotes a program and its arguments.
  package static func arguments(_ words: [Bytes]) -> String {
    let line = words.enumerated().map { index, bytes in
      isBare(bytes, at: index) ? bytes.text : quoted(bytes)
    }.joined(separator: " ")
    return (isTakenForJob(words) ? "env " : "") + line
  }

  /// Quotes a program and its arguments for any `/bin/sh`.
  ///
  /// Not for display: some shells (dash) do not support `$'…'`, so control characters stay
  /// unescaped.
  package static func script(_ words: [Bytes]) -> Bytes {
    let line = words.enumerated().map { index, bytes in
      isBare(bytes, at: index) ? bytes : singleQuoted(bytes)
    }.joined(separator: [UInt8(ascii: " ")])
    return Bytes(isTakenForJob(words) ? "env " : "") + line
  }

  package static func word(_ bytes: Bytes) -> String {
    isBare(bytes) ? bytes.text : quoted(bytes)
  }

  /// Whether this word of a command needs no quotes.
  private static func isBare(_ bytes: Bytes, at index: Int) -> Bool {
    isBare(bytes) && !(index == 0 && isTakenForSyntax(bytes))
  }

  /// Whether bash would read the program's name as a job specification, which it does even for a
  /// quoted `%1`.
  private static func isTakenForJob(_ words: [Bytes]) -> Bool {
    words.first?.first == UInt8(ascii: "%")
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

  /// Whether the shell would not read the first word as a program's name.
  private static func isTakenForSyntax(_ bytes: Bytes) -> Bool {
    bytes.contains(UInt8(ascii: "=")) || reserved.contains(bytes.text)
  }

  /// Reserved words of bash, zsh and ksh; quoting makes them names.
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
        // Octal: history expansion could read `\'` as the closing quote.
        quoted += piece.bytes.map(octal).joined()
      case .printable(let scalar): quoted.unicodeScalars.append(scalar)
      case .unprintable("\n"): quoted += #"\n"#
      case .unprintable("\t"): quoted += #"\t"#
      case .unprintable: quoted += piece.bytes.map(octal).joined()
      }
    }
    return quoted + "'"
  }

  /// Always three digits, so that a following digit is not read as part of the escape.
  private static func octal(_ byte: UInt8) -> String { "\\" + String(byte, digits: 3, radix: 8) }
}

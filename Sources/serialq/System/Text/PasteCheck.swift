/// Whether a line for `/bin/sh` can be pasted unchanged into an interactive shell.
///
/// Interactive shells expand more than `sh` does, prompt for more input if a line is incomplete, and
/// know words that `sh` does not. When in doubt, returns false; the line is then shown as an
/// argument of `sh -c`.
package enum PasteCheck {
  package static func isSafe(_ line: Bytes) -> Bool {
    guard TextPiece.arePrintable(line), line.first != UInt8(ascii: "^") else { return false }
    let words = line.split { byte in !isPartOfWord(byte) }.map { Bytes($0) }
    guard !words.contains(where: foreign.contains) else { return false }
    var scan = Scan(line)
    return scan.isSafe()
  }

  fileprivate static func isPartOfWord(_ byte: UInt8) -> Bool {
    !byte.isSpace && !byte.isOne(of: ";&|()<>\"'`")
  }

  /// Words that bash and zsh know and some `sh` does not.
  private static let foreign = [
    "[[", "coproc", "declare", "function", "let", "select", "setopt", "shopt", "source", "typeset",
  ].map { Bytes($0.utf8) }

  /// Scans a line and tracks its quotes.
  private struct Scan {
    enum Quotes {
      case none, single, double
    }

    private var rest: ArraySlice<UInt8>
    private var quotes = Quotes.none
    private var before = UInt8(ascii: " ")
    /// The simple command so far, and whether a backslash is a part of an argument of it.
    private var command = Bytes()
    private var keepsBackslash = false

    init(_ line: Bytes) { rest = line[...] }

    mutating func isSafe() -> Bool {
      while let byte = rest.popFirst() {
        if quotes == .none, byte.isOne(of: ";&|") {
          guard !echoesBackslash else { return false }
          command = []
          keepsBackslash = false
        }
        command.append(byte)
        if quotes == .single {
          if byte == UInt8(ascii: "'") { quotes = .none }
          if byte == UInt8(ascii: "\\") { keepsBackslash = true }
        } else if byte == UInt8(ascii: "\\") {
          // A trailing backslash continues the line; `\!` is history expansion in some shells.
          guard let next = rest.popFirst(), next != UInt8(ascii: "!") else { return false }
          let isDropped = quotes == .none || next.isOne(of: "$`\"")
          if next == UInt8(ascii: "\\") || !isDropped { keepsBackslash = true }
        } else if !isPlain(byte) {
          return false
        }
        before = byte
      }
      return quotes == .none && !echoesBackslash
    }

    /// Whether the output depends on the shell: `echo "a\nb"` prints one line in bash and two in
    /// dash.
    private var echoesBackslash: Bool {
      keepsBackslash
        && command.split { !PasteCheck.isPartOfWord($0) }.contains { Bytes($0) == Bytes("echo") }
    }

    /// Whether every shell reads `byte`, outside of single quotes, as `sh` does.
    private mutating func isPlain(_ byte: UInt8) -> Bool {
      switch byte {
      case UInt8(ascii: "!"):
        // History expansion, unless a blank or `=` follows: `test ! -f x`, `test 1 != 2`.
        return rest.first.map { $0.isBlank || $0 == UInt8(ascii: "=") } ?? true
      case UInt8(ascii: "\""):
        guard before != UInt8(ascii: "$") else { return false }
        quotes = quotes == .double ? .none : .double
        return true
      case _ where quotes == .double:
        return true
      case UInt8(ascii: "'"):
        quotes = .single
        // `$'…'` is not supported by every sh.
        return before != UInt8(ascii: "$")
      case UInt8(ascii: "#"):
        // Not a comment in an interactive zsh.
        return !startsWord
      case UInt8(ascii: "="):
        // zsh expands `=ls` to the path of ls.
        return !startsWord
      case UInt8(ascii: "{"):
        // bash expands `{a,b}` to two words; `${a}` and `{ a; }` are the same everywhere.
        return before == UInt8(ascii: "$") || rest.first.map(\.isBlank) ?? false
      case UInt8(ascii: "<"):
        // A here-document reads more lines, and `<(…)` is not supported by every sh.
        return rest.first != UInt8(ascii: "<") && rest.first != UInt8(ascii: "(")
      case UInt8(ascii: "&"):
        // bash redirects both outputs with `&>`; sh runs the command in the background.
        return rest.first != UInt8(ascii: ">")
      case UInt8(ascii: "|"):
        return rest.first != UInt8(ascii: "&")
      case UInt8(ascii: "("):
        // `((…))` and `a=(…)` are not supported by every sh; `$((…))` is.
        let isArithmetic = rest.first == UInt8(ascii: "(") && before != UInt8(ascii: "$")
        return !isArithmetic && before != UInt8(ascii: "=")
      default:
        return true
      }
    }

    private var startsWord: Bool { before.isOne(of: " ;|&()") }
  }
}

extension UInt8 {
  /// Whether the byte is one of these characters.
  fileprivate func isOne(of characters: StaticString) -> Bool {
    characters.withUTF8Buffer { $0.contains(self) }
  }
}

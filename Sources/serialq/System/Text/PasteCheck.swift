/// Whether a line for `/bin/sh` can be pasted unchanged into an interactive shell.
///
/// Interactive shells expand more than `sh` does, and prompt for more input if a line is
/// incomplete. When in doubt, returns false; the line is then shown as an argument of `sh -c`.
package enum PasteCheck {
  package static func isSafe(_ line: Bytes) -> Bool {
    guard TextPiece.arePrintable(line), line.first != UInt8(ascii: "^") else { return false }
    var scan = Scan(line)
    return scan.isSafe()
  }

  /// Scans a line and tracks its quotes.
  private struct Scan {
    enum Quotes {
      case none, single, double
    }

    private var rest: ArraySlice<UInt8>
    private var quotes = Quotes.none
    private var before = UInt8(ascii: " ")

    init(_ line: Bytes) { rest = line[...] }

    mutating func isSafe() -> Bool {
      while let byte = rest.popFirst() {
        if quotes == .single {
          if byte == UInt8(ascii: "'") { quotes = .none }
        } else if byte == UInt8(ascii: "\\") {
          // A trailing backslash continues the line; `\!` is history expansion in some shells.
          guard let next = rest.popFirst(), next != UInt8(ascii: "!") else { return false }
        } else if !isPlain(byte) {
          return false
        }
        before = byte
      }
      return quotes == .none
    }

    /// Whether every shell reads `byte`, outside of single quotes, as `sh` does.
    private mutating func isPlain(_ byte: UInt8) -> Bool {
      switch byte {
      case UInt8(ascii: "!"):
        // History expansion, unless a blank follows: `test ! -f x`.
        return rest.first.map(\.isBlank) ?? true
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
      default:
        return true
      }
    }

    private var startsWord: Bool { Bytes(" ;|&()").contains(before) }
  }
}

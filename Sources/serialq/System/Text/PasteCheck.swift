/// Whether a line for `/bin/sh` can be pasted into an interactive shell as it is.
///
/// Interactive shells read more into a line than `sh` does, and wait for more when it is not
/// complete. In doubt the answer is no: then the line is shown as an argument of `sh -c`.
package enum PasteCheck {
  package static func isSafe(_ line: Bytes) -> Bool {
    guard TextPiece.arePrintable(line), line.first != UInt8(ascii: "^") else { return false }
    var scan = Scan(line)
    return scan.isSafe()
  }

  /// Walks along a line and knows whether it is inside quotes.
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
          // A backslash at the end waits for another line; `\!` is history to some shells.
          guard let next = rest.popFirst(), next != UInt8(ascii: "!") else { return false }
        } else if !isPlain(byte) {
          return false
        }
        before = byte
      }
      return quotes == .none
    }

    /// Whether every shell reads `byte`, which is not in single quotes, as `sh` does.
    private mutating func isPlain(_ byte: UInt8) -> Bool {
      switch byte {
      case UInt8(ascii: "!"):
        // History, unless a blank follows: `test ! -f x`.
        return rest.first.map(\.isBlank) ?? true
      case UInt8(ascii: "\""):
        guard before != UInt8(ascii: "$") else { return false }
        quotes = quotes == .double ? .none : .double
        return true
      case _ where quotes == .double:
        return true
      case UInt8(ascii: "'"):
        quotes = .single
        // bash knows `$'…'`, and not every sh does.
        return before != UInt8(ascii: "$")
      case UInt8(ascii: "#"):
        // Not a comment to an interactive zsh.
        return !startsWord
      case UInt8(ascii: "="):
        // The path of a program to zsh.
        return !startsWord
      case UInt8(ascii: "{"):
        // `{a,b}` is two words to bash; `${a}` and `{ a; }` are the same everywhere.
        return before == UInt8(ascii: "$") || rest.first.map(\.isBlank) ?? false
      case UInt8(ascii: "<"):
        // A here-document waits for more lines, and `<(…)` is not for every sh.
        return rest.first != UInt8(ascii: "<") && rest.first != UInt8(ascii: "(")
      default:
        return true
      }
    }

    private var startsWord: Bool { Bytes(" ;|&()").contains(before) }
  }
}

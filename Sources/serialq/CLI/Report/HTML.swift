import SerialqSystem

/// A piece of a page: what is written here is markup, and what is put into it is text.
///
/// `"<b>\(label)</b>"` cannot forget to escape the label, neither between tags nor in an attribute.
/// Every tag is closed and every value quoted, so that a page is well-formed XML too, and a tool can
/// tell that nothing in it is taken for markup which is not.
struct HTML: ExpressibleByStringInterpolation, Equatable {
  private(set) var markup: String

  init(stringLiteral markup: String) { self.markup = markup }

  init(stringInterpolation parts: StringInterpolation) { markup = parts.markup }

  /// One after another, a line each.
  init(_ pieces: [HTML]) { markup = pieces.map(\.markup).joined(separator: "\n") }

  struct StringInterpolation: StringInterpolationProtocol {
    fileprivate var markup = ""

    init(literalCapacity: Int, interpolationCount: Int) {
      markup.reserveCapacity(literalCapacity + 32 * interpolationCount)
    }

    mutating func appendLiteral(_ literal: String) { markup += literal }
    mutating func appendInterpolation(_ piece: HTML) { markup += piece.markup }
    mutating func appendInterpolation(_ pieces: [HTML]) { markup += HTML(pieces).markup }
    mutating func appendInterpolation(_ text: String) { markup += HTML.escaped(text) }
    mutating func appendInterpolation(_ name: StaticString) { markup += HTML.escaped("\(name)") }
    mutating func appendInterpolation(_ number: Int) { markup += "\(number)" }

    /// A share of the width, as an attribute has it.
    mutating func appendInterpolation(percent share: Double) {
      let hundredths = Int((share * 10_000).rounded())
      let rest = hundredths % 100
      markup += "\(hundredths / 100).\(rest < 10 ? "0" : "")\(rest)%"
    }
  }

  /// Text as it stands in a page, in an attribute or between tags.
  ///
  /// What has no sign of its own, such as what turns text around, is shown and not sent. By scalars:
  /// a `<` with a mark upon it is another character, and still opens a tag.
  private static func escaped(_ text: String) -> String {
    var escaped = String.UnicodeScalarView()
    for scalar in Visible.text(Bytes(text.utf8)).unicodeScalars {
      switch scalar {
      case "&": escaped += "&amp;".unicodeScalars
      case "<": escaped += "&lt;".unicodeScalars
      case ">": escaped += "&gt;".unicodeScalars
      case "\"": escaped += "&quot;".unicodeScalars
      case "'": escaped += "&#39;".unicodeScalars
      default: escaped.append(scalar)
      }
    }
    return String(escaped)
  }
}

import SerialqSystem

/// A fragment of a page: literals are markup, interpolations are text.
///
/// So `"<b>\(label)</b>"` escapes the label, both between tags and in attributes. All tags are
/// closed and all values quoted: a page is well-formed XML, and an XML parser can verify the
/// escaping.
struct HTML: ExpressibleByStringInterpolation, Equatable {
  private(set) var markup: String

  init(stringLiteral markup: String) { self.markup = markup }

  init(stringInterpolation parts: StringInterpolation) { markup = parts.markup }

  /// Joins fragments, one per line.
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

    /// A share of the width, as the value of an attribute.
    mutating func appendInterpolation(percent share: Double) {
      let hundredths = Int((share * 10_000).rounded())
      markup += "\(hundredths / 100).\(String(hundredths % 100, digits: 2))%"
    }
  }

  /// Escapes text for attributes and content.
  ///
  /// Makes invisible characters visible, such as those that reverse text. Works on scalars: `<`
  /// with a combining mark is a different Character, but still opens a tag.
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

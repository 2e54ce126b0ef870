/// A line of text with colored spans: one row of a terminal.
package struct StyledLine: Equatable {
  struct Span: Equatable {
    var text: String
    var color: Color?
  }

  private(set) var spans: [Span]

  package init(_ text: String = "", _ color: Color? = nil) {
    spans = text.isEmpty ? [] : [Span(text: text, color: color)]
  }

  /// The width in columns.
  package var width: Int { spans.reduce(0) { $0 + DisplayWidth.of($1.text) } }

  package mutating func append(_ text: String, _ color: Color? = nil) {
    if !text.isEmpty { spans.append(Span(text: text, color: color)) }
  }

  package static func + (left: StyledLine, right: StyledLine) -> StyledLine {
    var line = left
    line.spans += right.spans
    return line
  }

  /// Truncates the line to `columns` and ends it with an ellipsis if it is longer.
  ///
  /// Never splits a wide character or separates a combining mark from its base.
  package func fitted(to columns: Int) -> StyledLine {
    guard columns > 0 else { return StyledLine() }
    guard width > columns else { return self }
    var fitted = StyledLine()
    var left = columns - 1
    for span in spans {
      var kept = String.UnicodeScalarView()
      for scalar in span.text.unicodeScalars {
        let width = DisplayWidth.of(scalar)
        guard width <= left else {
          fitted.append(String(kept), span.color)
          fitted.append("…", span.color)
          return fitted
        }
        left -= width
        kept.append(scalar)
      }
      fitted.append(String(kept), span.color)
    }
    return fitted
  }

  /// The words of a line of one color, on as many lines as they need.
  package func wrapped(to columns: Int) -> [StyledLine] {
    rendered(color: false).wrapped(to: columns).map { StyledLine($0, spans.first?.color) }
  }

  /// Places `right` at the right edge of `columns` and truncates this line to fit.
  package func beside(_ right: StyledLine, in columns: Int) -> StyledLine {
    let room = columns - right.width - 1
    guard room > 0 else { return right.fitted(to: columns) }
    var line = fitted(to: room)
    line.append(String(repeating: " ", count: columns - line.width - right.width))
    return line + right
  }

  package func rendered(color: Bool) -> String {
    var text = ""
    render(to: &text, color: color)
    return text
  }

  /// Appends the rendered line.
  func render(to text: inout String, color: Bool) {
    for span in spans {
      text += color ? span.color?.applied(to: span.text) ?? span.text : span.text
    }
  }
}

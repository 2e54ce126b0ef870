/// A table of text: columns as wide as their widest cell, two spaces between them.
///
/// Columns without content are left out, heading and all. The last column is not padded.
struct Columns {
  enum Alignment {
    case left, right
  }

  struct Heading {
    var title: String
    var alignment: Alignment = .left
  }

  struct Cell: ExpressibleByStringLiteral {
    /// Has to be visible text already: nothing is escaped here.
    var text: String
    var colour: Colour?

    init(_ text: String, _ colour: Colour? = nil) {
      self.text = text
      self.colour = colour
    }

    init(stringLiteral text: String) { self.init(text) }
  }

  var headings: [Heading]
  /// Each as long as `headings`; a missing cell is empty.
  var rows: [[Cell]] = []

  /// The lines of the table, the headings first, each ended by a newline; empty without rows.
  func rendered(colour: Bool) -> String {
    let used = headings.indices.filter { column in
      rows.contains { !cell($0, column).text.isEmpty }
    }
    let titles = headings.map { Cell($0.title, .dim) }
    let lines = used.isEmpty ? [] : [titles] + rows
    let widths = used.map { column in
      lines.map { DisplayWidth.of(cell($0, column).text) }.max() ?? 0
    }
    return lines.map { row in
      // Nothing is printed after a line's last content, so that no line ends in spaces.
      let last = used.last { !cell(row, $0).text.isEmpty } ?? 0
      let cells = zip(used, widths).prefix { $0.0 <= last }.map { column, width in
        padded(
          cell(row, column), to: width, headings[column].alignment, isLast: column == last,
          colour: colour
        )
      }
      return cells.joined(separator: "  ") + "\n"
    }.joined()
  }

  private func cell(_ row: [Cell], _ column: Int) -> Cell {
    column < row.count ? row[column] : ""
  }

  private func padded(
    _ cell: Cell, to width: Int, _ alignment: Alignment, isLast: Bool, colour: Bool
  ) -> String {
    let padding = String(repeating: " ", count: width - DisplayWidth.of(cell.text))
    let text = colour ? cell.colour?.applied(to: cell.text) ?? cell.text : cell.text
    switch alignment {
    case .right: return padding + text
    case .left: return isLast ? text : text + padding
    }
  }
}

/// The few colours in use, by their codes (SGR), which every colour terminal knows.
enum Colour: String {
  case bold = "1"
  case dim = "2"
  case red = "31"
  case green = "32"
  case yellow = "33"
  case cyan = "36"

  func applied(to text: String) -> String {
    text.isEmpty ? text : "\u{1B}[\(rawValue)m\(text)\u{1B}[0m"
  }
}

/// A text table: columns as wide as their widest cell, separated by two spaces.
///
/// Omits columns without content, including their headings. Does not pad the last column.
package struct Columns {
  /// The title of a column, and the side to which it is aligned.
  package enum Heading {
    case left(String)
    case right(String)

    var title: String {
      switch self {
      case .left(let title), .right(let title): title
      }
    }
  }

  package struct Cell: ExpressibleByStringLiteral {
    var text: String
    var color: Color?

    package init(_ text: String, _ color: Color? = nil) {
      self.text = text
      self.color = color
    }

    package init(stringLiteral text: String) { self.init(text) }
  }

  private let headings: [Heading]
  private var rows: [[Cell]] = []
  /// The width of each column, and whether it has content.
  private var widths: [Int]
  private var isUsed: [Bool]

  package init(headings: [Heading]) {
    self.headings = headings
    widths = headings.map { DisplayWidth.of($0.title) }
    isUsed = headings.map { _ in false }
  }

  /// Appends a row, which is as long as the headings.
  package mutating func append(_ row: [Cell]) {
    for (column, cell) in row.enumerated() where !cell.text.isEmpty {
      isUsed[column] = true
      widths[column] = max(widths[column], DisplayWidth.of(cell.text))
    }
    rows.append(row)
  }

  /// The table, headings first, each line ended by a newline; empty without rows.
  ///
  /// Cuts lines to `width` columns.
  package func rendered(color: Bool, width: Int? = nil) -> String {
    var used = headings.indices.filter { isUsed[$0] }
    guard let last = used.last else { return "" }
    // On a narrow terminal, a text in the last column is worth more than those before it; a remark,
    // which has no heading, is not.
    let isText = if case .left(let title) = headings[last] { !title.isEmpty } else { false }
    let least = min(widths[last], (width ?? 0) / 4)
    while let width, isText, used.count > 2, room(for: used, in: width) < least {
      used.remove(at: used.count - 2)
    }
    var rendered = ""
    func append(_ row: [Cell]) {
      let line = line(row, used)
      (width.map(line.fitted(to:)) ?? line).render(to: &rendered, color: color)
      rendered += "\n"
    }
    append(headings.map { Cell($0.title, .dim) })
    for row in rows { append(row) }
    return rendered
  }

  /// The room that the columns before it leave to the last one.
  private func room(for used: [Int], in width: Int) -> Int {
    used.dropLast().reduce(width) { $0 - widths[$1] - 2 }
  }

  private func line(_ row: [Cell], _ used: [Int]) -> StyledLine {
    var line = StyledLine()
    // Padding is written only before further content, so that no line ends in spaces.
    var gap = 0
    for column in used {
      let cell = row[column]
      let room = widths[column] - DisplayWidth.of(cell.text)
      if cell.text.isEmpty {
        gap += room
      } else {
        let isRight = if case .right = headings[column] { true } else { false }
        line.append(String(repeating: " ", count: isRight ? gap + room : gap))
        line.append(cell.text, cell.color)
        gap = isRight ? 0 : room
      }
      gap += 2
    }
    return line
  }
}

/// The colors in use, by SGR code; limited to those that every color terminal supports.
package enum Color: String {
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

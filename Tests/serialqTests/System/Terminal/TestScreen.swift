@testable import SerialqSystem
/// A terminal of a given width that supports only what a live region needs; it records any other
/// input as a fault.
struct TestScreen {
  let columns: Int
  private(set) var rows: [[Character]] = [[]]
  private(set) var faults: [String] = []
  private var row = 0
  private var column = 0

  init(columns: Int) { self.columns = columns }

  /// The visible text, without trailing spaces and empty rows.
  var text: [String] {
    var lines = rows.map { row in
      String(row.reversed().drop { $0 == " " }.reversed())
    }
    while lines.last?.isEmpty == true { lines.removeLast() }
    return lines
  }

  var cursor: [Int] { [row, column] }

  mutating func send(_ text: String) {
    var rest = text.unicodeScalars[...]
    while let scalar = rest.popFirst() {
      switch scalar {
      case "\r": column = 0
      case "\n": newLine()
      case "\u{1B}": control(&rest)
      default: put(Character(scalar))
      }
    }
  }

  private mutating func newLine() {
    row += 1
    if row == rows.count { rows.append([]) }
  }

  private mutating func put(_ character: Character) {
    if column == columns {
      faults.append("wrapped at \(character)")
      column = 0
      newLine()
    }
    while rows[row].count <= column { rows[row].append(" ") }
    rows[row][column] = character
    column += 1
  }

  private mutating func control(_ rest: inout Substring.UnicodeScalarView) {
    guard rest.popFirst() == "[" else { return faults.append("escape") }
    var number = ""
    while let scalar = rest.first, ("0"..."9").contains(scalar) || scalar == ";" {
      number.unicodeScalars.append(scalar)
      rest.removeFirst()
    }
    switch rest.popFirst() {
    case "A":
      let count = Int(number) ?? 1
      if count > row { faults.append("above the top") }
      row = max(0, row - count)
    case "K": rows[row].removeSubrange(min(column, rows[row].count)...)
    case "B": row = min(row + (Int(number) ?? 1), rows.count - 1)
    case "m": break
    case let other: faults.append("control \(other.map(String.init) ?? "")")
    }
  }
}

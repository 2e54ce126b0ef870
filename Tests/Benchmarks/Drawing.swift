import Foundation

/// The elements of a plot, as SVG.
struct Drawing {
  static let width = 720.0

  let title: String
  let height: Double
  let theme: Theme
  private var elements: [String] = []

  /// The colors of the pictures.
  enum Theme: String, CaseIterable {
    case light, dark

    var page: String { self == .light ? "#ffffff" : "#0d1117" }
    var grid: String { self == .light ? "#d9dfe6" : "#30363d" }
    var title: String { self == .light ? "#1f2933" : "#e6edf3" }
    var text: String { self == .light ? "#3e4c59" : "#a8b3c0" }
    /// Of serialq and SerialPromises.
    var own: String { self == .light ? "#0b6bcb" : "#58a6ff" }
    var others: [String] {
      self == .light ? ["#c2410c", "#5f6b7a"] : ["#ff9e64", "#9aa7b4"]
    }
  }

  enum Mark { case circle, square, triangle }

  init(_ title: String, height: Double, _ theme: Theme) {
    self.title = title
    self.height = height
    self.theme = theme
  }

  var svg: String {
    let (width, height) = (Int(Self.width), Int(height))
    return """
      <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 \(width) \(height)" role="img" \
      aria-label="\(title.replacing("`", with: ""))" font-family="system-ui, sans-serif" font-size="13">
      <rect width="\(width)" height="\(height)" fill="\(theme.page)"/>
      \(elements.joined(separator: "\n"))
      </svg>

      """
  }

  mutating func heading(at x: Double) {
    elements.append(
      """
      <text x="\(number(x))" y="22" font-size="15" fill="\(theme.title)">\(marked(title))</text>
      """)
  }

  mutating func text(
    _ text: String, _ x: Double, _ y: Double, _ anchor: Anchor, bold: Bool = false,
    color: String? = nil
  ) {
    let weight = bold ? " font-weight=\"bold\"" : ""
    elements.append(
      """
      <text x="\(number(x))" y="\(number(y))" text-anchor="\(anchor)"\(weight) \
      fill="\(color ?? theme.text)">\(marked(text))</text>
      """)
  }

  /// A text in which what stands between backticks is in the font of code.
  private func marked(_ text: String) -> String {
    text.replacing(/`([^`]*)`/) {
      "<tspan font-family=\"ui-monospace, monospace\">\($0.output.1)</tspan>"
    }
  }

  enum Anchor { case start, middle, end }

  mutating func line(
    from start: (x: Double, y: Double), to end: (x: Double, y: Double), color: String? = nil,
    width: Double = 1
  ) {
    elements.append(
      """
      <line x1="\(number(start.x))" y1="\(number(start.y))" x2="\(number(end.x))" \
      y2="\(number(end.y))" stroke="\(color ?? theme.grid)" stroke-width="\(number(width))"/>
      """)
  }

  mutating func curve(_ places: [(x: Double, y: Double)], color: String, dash: String) {
    let path = places.map { "\(number($0.x)),\(number($0.y))" }
    elements.append(
      """
      <polyline points="\(path.joined(separator: " "))" fill="none" stroke="\(color)" \
      stroke-width="2" stroke-dasharray="\(dash)"/>
      """)
  }

  mutating func mark(_ mark: Mark, _ x: Double, _ y: Double, color: String) {
    let element =
      switch mark {
      case .circle:
        "<circle cx=\"\(number(x))\" cy=\"\(number(y))\" r=\"5\" fill=\"\(color)\"/>"
      case .square:
        """
        <rect x="\(number(x - 4))" y="\(number(y - 4))" width="8" height="8" fill="\(color)"/>
        """
      case .triangle:
        """
        <polygon points="\(number(x)),\(number(y - 5)) \(number(x + 5)),\(number(y + 4)) \
        \(number(x - 5)),\(number(y + 4))" fill="\(color)"/>
        """
      }
    elements.append(element)
  }

  private func number(_ value: Double) -> String { Report.number(value, 1) }
}

/// A logarithmic scale, which begins and ends at a power of ten.
struct Scale {
  private let exponents: ClosedRange<Int>
  private let ends: (Double, Double)

  /// Maps costs or sizes to coordinates from `start` to `end`.
  init(_ values: [Double], from start: Double, to end: Double) {
    let lower = Int(log10(values.min() ?? 1).rounded(.down))
    let upper = Int(log10(values.max() ?? 10).rounded(.up))
    exponents = lower...max(upper, lower + 1)
    ends = (start, end)
  }

  func place(_ value: Double) -> Double {
    let share =
      (log10(value) - Double(exponents.lowerBound)) / Double(exponents.count - 1)
    return ends.0 + share * (ends.1 - ends.0)
  }

  /// The powers of ten, as numbers and as text.
  var ticks: [(value: Double, text: String)] {
    exponents.map { exponent in
      let text =
        exponent < 0
        ? "0." + String(repeating: "0", count: -exponent - 1) + "1"
        : Int(pow(10, Double(exponent))).formatted(.number.locale(Locale(identifier: "en_US")))
      return (pow(10, Double(exponent)), text)
    }
  }
}

import Foundation

/// Plots the cost of one unit against the number of units as SVG, with logarithmic scales.
struct Plot {
  let growth: Growth

  private static let width = 720.0
  private static let height = 420.0
  private static let margin = (left: 64.0, right: 96.0, top: 40.0, bottom: 52.0)
  /// Series differ in shape as well as in color.
  private static let styles = [
    (color: "#0b6bcb", dash: "", mark: "circle"), (color: "#c2410c", dash: "6 4", mark: "square"),
    (color: "#5f6b7a", dash: "2 4", mark: "triangle"),
  ]

  private var points: [(size: Int, cost: Double)] { growth.series.flatMap(\.points) }
  private var sizes: ClosedRange<Double> { Self.range(points.map { log10(Double($0.size)) }) }
  private var costs: ClosedRange<Double> { Self.range(points.map { log10($0.cost) }) }

  private static func range(_ values: [Double]) -> ClosedRange<Double> {
    let lower = (values.min() ?? 0).rounded(.down)
    return lower...max((values.max() ?? 1).rounded(.up), lower + 1)
  }

  private func x(_ size: Double) -> Double {
    let (left, right) = (Self.margin.left, Self.width - Self.margin.right)
    return left + (log10(size) - sizes.lowerBound) / (sizes.upperBound - sizes.lowerBound)
      * (right - left)
  }

  private func y(_ cost: Double) -> Double {
    let (top, bottom) = (Self.margin.top, Self.height - Self.margin.bottom)
    return bottom - (log10(cost) - costs.lowerBound) / (costs.upperBound - costs.lowerBound)
      * (bottom - top)
  }

  var svg: String {
    let (width, height) = (Int(Self.width), Int(Self.height))
    return """
      <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 \(width) \(height)" role="img" \
      aria-label="\(growth.title)" font-family="system-ui, sans-serif" font-size="13">
      <rect width="\(width)" height="\(height)" fill="#ffffff"/>
      <text x="\(Self.margin.left)" y="22" font-size="15" fill="#1f2933">\(growth.title)</text>
      \(axes)
      \(growth.series.enumerated().map { curve($1, Self.styles[$0 % Self.styles.count]) }.joined())</svg>

      """
  }

  private var axes: String {
    let (left, right) = (Self.margin.left, Self.width - Self.margin.right)
    let (top, bottom) = (Self.margin.top, Self.height - Self.margin.bottom)
    var lines: [String] = []
    for exponent in Int(sizes.lowerBound)...Int(sizes.upperBound) {
      let at = x(pow(10, Double(exponent)))
      lines.append(line(at, top, at, bottom))
      lines.append(text(at, bottom + 20, "middle", Self.power(exponent)))
    }
    for exponent in Int(costs.lowerBound)...Int(costs.upperBound) {
      let at = y(pow(10, Double(exponent)))
      lines.append(line(left, at, right, at))
      lines.append(text(left - 8, at + 4, "end", "\(Self.power(exponent)) \(growth.measure)"))
    }
    lines.append(text((left + right) / 2, bottom + 42, "middle", "waiting jobs"))
    return lines.joined(separator: "\n")
  }

  private static func power(_ exponent: Int) -> String {
    exponent < 0
      ? "0." + String(repeating: "0", count: -exponent - 1) + "1"
      : Int(pow(10, Double(exponent))).formatted(.number.locale(Locale(identifier: "en_US")))
  }

  private func line(_ x1: Double, _ y1: Double, _ x2: Double, _ y2: Double) -> String {
    let ends = [x1, y1, x2, y2].map { Report.number($0, 1) }
    return """
      <line x1="\(ends[0])" y1="\(ends[1])" x2="\(ends[2])" y2="\(ends[3])" stroke="#d9dfe6"/>
      """
  }

  private func text(_ x: Double, _ y: Double, _ anchor: String, _ text: String) -> String {
    """
    <text x="\(Report.number(x, 1))" y="\(Report.number(y, 1))" text-anchor="\(anchor)" \
    fill="#3e4c59">\(text)</text>
    """
  }

  private func curve(
    _ series: Growth.Series, _ style: (color: String, dash: String, mark: String)
  ) -> String {
    guard let last = series.points.last else { return "" }
    let places = series.points.map { (x: x(Double($0.size)), y: y($0.cost)) }
    let path = places.map { "\(Report.number($0.x, 1)),\(Report.number($0.y, 1))" }
    let label = text(x(Double(last.size)) + 10, y(last.cost) + 4, "start", series.name)
    return """
      <polyline points="\(path.joined(separator: " "))" fill="none" stroke="\(style.color)" \
      stroke-width="2" stroke-dasharray="\(style.dash)"/>
      \(places.map { mark($0.x, $0.y, style) }.joined(separator: "\n"))
      \(label)

      """
  }

  private func mark(
    _ x: Double, _ y: Double, _ style: (color: String, dash: String, mark: String)
  ) -> String {
    func number(_ value: Double) -> String { Report.number(value, 1) }
    switch style.mark {
    case "circle":
      return "<circle cx=\"\(number(x))\" cy=\"\(number(y))\" r=\"4\" fill=\"\(style.color)\"/>"
    case "square":
      return """
        <rect x="\(number(x - 4))" y="\(number(y - 4))" width="8" height="8" fill="\(style.color)"/>
        """
    default:
      let (left, right, top, bottom) = (number(x - 5), number(x + 5), number(y - 5), number(y + 4))
      return """
        <polygon points="\(number(x)),\(top) \(right),\(bottom) \(left),\(bottom)" \
        fill="\(style.color)"/>
        """
    }
  }
}

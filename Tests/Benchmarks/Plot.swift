import Foundation

/// Draws the cost of one unit against the number of units, with logarithmic scales.
struct GrowthPlot {
  let growth: Growth

  private static let height = 420.0
  private static let margin = (left: 64.0, right: 96.0, top: 40.0, bottom: 52.0)
  /// Series differ in shape as well as in color.
  private static let styles: [(dash: String, mark: Drawing.Mark)] = [
    ("", .circle), ("6 4", .square), ("2 4", .triangle),
  ]

  func drawn(_ theme: Drawing.Theme) -> Drawing {
    let (left, right) = (Self.margin.left, Drawing.width - Self.margin.right)
    let (top, bottom) = (Self.margin.top, Self.height - Self.margin.bottom)
    let points = growth.series.flatMap(\.points)
    let sizes = Scale(points.map { Double($0.size) }, from: left, to: right)
    let costs = Scale(points.map(\.cost), from: bottom, to: top)
    var drawing = Drawing(growth.title, height: Self.height, theme)
    drawing.heading(at: left)
    for (value, text) in sizes.ticks {
      let x = sizes.place(value)
      drawing.line(from: (x, top), to: (x, bottom))
      drawing.text(text, x, bottom + 20, .middle)
    }
    for (value, text) in costs.ticks {
      let y = costs.place(value)
      drawing.line(from: (left, y), to: (right, y))
      drawing.text("\(text) \(growth.measure)", left - 8, y + 4, .end)
    }
    drawing.text("waiting jobs", (left + right) / 2, bottom + 42, .middle)
    let colors = [theme.own] + theme.others
    var names: [(text: String, color: String, x: Double, y: Double)] = []
    for (index, series) in growth.series.enumerated() {
      let (color, style) = (colors[index % colors.count], Self.styles[index % Self.styles.count])
      let places = series.points.map { (x: sizes.place(Double($0.size)), y: costs.place($0.cost)) }
      guard let last = places.last else { continue }
      drawing.curve(places, color: color, dash: style.dash)
      for place in places { drawing.mark(style.mark, place.x, place.y, color: color) }
      names.append(("`\(series.name)`", color, last.x + 10, last.y + 4))
    }
    // In the order of the ends of the curves, from the bottom. Names at ends that are close would
    // cover each other: the upper one moves up.
    names.sort { $0.y > $1.y }
    for (index, name) in names.enumerated() {
      let below = names[..<index].filter { abs($0.x - name.x) < 80 }.map(\.y).min()
      names[index].y = min(name.y, (below ?? .infinity) - 16)
      drawing.text(name.text, name.x, names[index].y, .start, color: name.color)
    }
    return drawing
  }
}

/// Draws the cost of one unit for each subject of a contest on a logarithmic scale, with the floor
/// as a line.
struct ContestPlot {
  let report: Report
  let picture: Contest.Picture

  private static let row = 30.0
  private static let margin = (left: 190.0, right: 150.0, top: 58.0, bottom: 36.0)

  /// Nil if the floor was not measured.
  func drawn(_ theme: Drawing.Theme) -> Drawing? {
    let costs = report.medians
    guard let floor = costs.first(where: { $0.name == picture.floor })?.cost else { return nil }
    let rows = costs.filter { $0.name != picture.floor }
    let (left, right) = (Self.margin.left, Drawing.width - Self.margin.right)
    let (top, bottom) = (Self.margin.top, Self.margin.top + Self.row * Double(rows.count))
    var drawing = Drawing(picture.title, height: bottom + Self.margin.bottom, theme)
    let scale = Scale(costs.map { $0.cost / floor }, from: left, to: right)
    drawing.heading(at: 16)
    for (value, text) in scale.ticks {
      let x = scale.place(value)
      drawing.line(from: (x, top), to: (x, bottom))
      drawing.text("\(text) ×", x, bottom + 22, .middle)
    }
    let floorX = scale.place(1)
    drawing.line(from: (floorX, top - 6), to: (floorX, bottom), color: theme.text, width: 2)
    drawing.text("\(picture.floorLabel): \(Self.time(floor))", floorX, top - 12, .middle)
    for (index, row) in rows.enumerated() {
      let y = top + Self.row * (Double(index) + 0.5)
      let isOwn = picture.isOwn(row.name)
      let color = isOwn ? theme.own : theme.others[0]
      let x = scale.place(row.cost / floor)
      drawing.text(picture.label(row.name), left - 12, y + 4, .end, bold: isOwn)
      drawing.line(from: (floorX, y), to: (x, y), color: color, width: 3)
      drawing.mark(isOwn ? .circle : .square, x, y, color: color)
      drawing.text(
        "\(Report.number(row.cost / floor, 2)) × (\(Self.time(row.cost)))", right + 8, y + 4,
        .start,
        bold: isOwn)
    }
    return drawing
  }

  private static func time(_ nanoseconds: Double) -> String {
    nanoseconds < 100_000
      ? "\(Report.number(nanoseconds, 0)) ns" : "\(Report.number(nanoseconds / 1e6, 2)) ms"
  }
}

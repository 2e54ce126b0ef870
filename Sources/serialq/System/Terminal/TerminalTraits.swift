/// The output capabilities of a descriptor: terminal or not, width, color and redrawing.
package struct TerminalTraits: Equatable {
  package var isTerminal: Bool
  /// In columns; `nil` if unlimited.
  package var width: Int?
  package var hasColor: Bool
  /// Whether lines can be redrawn.
  package var isLive: Bool

  /// Computes the traits; `variable` looks up an environment variable.
  ///
  /// COLUMNS overrides the width of the terminal, because exporting it is deliberate. NO_COLOR
  /// takes effect unless it is empty; see no-color.org.
  init(isTerminal: Bool, windowColumns: Int?, variable: (StaticString) -> Bytes?) {
    self.isTerminal = isTerminal
    width = variable("COLUMNS").flatMap { Int(decimal: $0) } ?? windowColumns
    let isRefused = variable("NO_COLOR")?.isEmpty == false
    // Without TERM no capability is known, not even cursor movement.
    let isDumb = variable("TERM").map { $0.isEmpty || $0 == Bytes("dumb") } ?? true
    isLive = isTerminal && !isDumb
    hasColor = isLive && !isRefused
  }

  /// Queries `descriptor` with `isatty(3)`.
  package init(of descriptor: Int32, variable: (StaticString) -> Bytes?) {
    let columns = Int(TerminalWindow.size(of: descriptor).ws_col)
    self.init(
      isTerminal: isatty(descriptor) == 1, windowColumns: columns > 0 ? columns : nil,
      variable: variable)
  }
}

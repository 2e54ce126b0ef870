/// What may be printed to a descriptor: whether it is a terminal, how wide, whether in colour and drawn
/// over.
package struct TerminalTraits: Equatable {
  package var isTerminal: Bool
  /// In columns; `nil` if there is no limit to keep to.
  package var width: Int?
  package var hasColour: Bool
  /// Whether lines on it can be drawn over.
  package var isLive: Bool

  /// Decides from what the system says; `variable` gives a variable of the environment.
  ///
  /// COLUMNS goes before the terminal's own width, since whoever exports it means it. See
  /// no-color.org for NO_COLOR, which counts unless it is empty.
  init(isTerminal: Bool, windowColumns: Int?, variable: (StaticString) -> Bytes?) {
    self.isTerminal = isTerminal
    width = variable("COLUMNS").flatMap { Int(decimal: $0) } ?? windowColumns
    let isRefused = variable("NO_COLOR")?.isEmpty == false
    // Without TERM nothing is known of the terminal, not even that it can move the cursor.
    let isDumb = variable("TERM").map { $0.isEmpty || $0 == Bytes("dumb") } ?? true
    isLive = isTerminal && !isDumb
    hasColour = isLive && !isRefused
  }

  /// Asks `descriptor`: `isatty(3)`, and `ioctl(2)` with TIOCGWINSZ.
  package init(of descriptor: Int32, variable: (StaticString) -> Bytes?) {
    var window = winsize()
    // A serial line says that it is 0 columns wide.
    let isKnown = ioctl(descriptor, UInt(TIOCGWINSZ), &window) == 0 && window.ws_col > 0
    self.init(
      isTerminal: isatty(descriptor) == 1, windowColumns: isKnown ? Int(window.ws_col) : nil,
      variable: variable
    )
  }
}

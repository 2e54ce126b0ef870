/// What of a terminal there is to draw on, now: both change while a program runs.
package struct TerminalWindow: Equatable {
  package var columns: Int
  package var rows: Int

  /// Asks the terminal, by `ioctl(2)` with TIOCGWINSZ.
  ///
  /// One that does not say counts as 80 by 24.
  /// COLUMNS is of no use here: it stays as it was when the window is resized.
  package init(of descriptor: Int32) {
    var window = winsize()
    let isKnown = ioctl(descriptor, UInt(TIOCGWINSZ), &window) == 0
    columns = isKnown && window.ws_col > 0 ? Int(window.ws_col) : 80
    rows = isKnown && window.ws_row > 0 ? Int(window.ws_row) : 24
  }

  init(columns: Int, rows: Int) {
    self.columns = columns
    self.rows = rows
  }

  /// Whether the terminal belongs to this process group, by `tcgetpgrp(3)`: after `bg` it is the
  /// shell's, which does not expect anybody to draw there.
  ///
  /// A terminal that no shell controls is everybody's.
  package static func isOurs(_ descriptor: Int32) -> Bool {
    let owner = tcgetpgrp(descriptor)
    return owner < 0 || owner == getpgrp()
  }
}

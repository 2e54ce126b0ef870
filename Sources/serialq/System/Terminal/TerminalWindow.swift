/// The current size of a terminal, which can change while the program runs.
package struct TerminalWindow: Equatable {
  package var columns: Int
  package var rows: Int

  /// Queries the terminal by `ioctl(2)` with TIOCGWINSZ; defaults to 80 by 24.
  ///
  /// Ignores COLUMNS, which is not updated when the window is resized.
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

  /// Whether this process group is in the foreground of the terminal, by `tcgetpgrp(3)`.
  ///
  /// After `bg` the shell is, and drawing would corrupt its prompt. Also true for a
  /// terminal that is not the controlling one.
  package static func isOurs(_ descriptor: Int32) -> Bool {
    let owner = tcgetpgrp(descriptor)
    return owner < 0 || owner == getpgrp()
  }
}

/// The current size of a terminal, which can change while the program runs.
package struct TerminalWindow: Equatable {
  package var columns: Int
  package var rows: Int
}

extension TerminalWindow {
  /// Queries the terminal; defaults to 80 by 24.
  ///
  /// Ignores COLUMNS, which is not updated when the window is resized.
  package init(of descriptor: Int32) {
    let size = Self.size(of: descriptor)
    columns = size.ws_col > 0 ? Int(size.ws_col) : 80
    rows = size.ws_row > 0 ? Int(size.ws_row) : 24
  }

  /// The size by `ioctl(2)` with TIOCGWINSZ; 0 if it is unknown, as on a serial line.
  static func size(of descriptor: Int32) -> winsize {
    var size = winsize()
    return ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0 ? size : winsize()
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

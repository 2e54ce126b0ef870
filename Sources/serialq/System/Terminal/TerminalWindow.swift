/// The current size of a terminal, which can change while the program runs.
package struct TerminalWindow: Equatable, Sendable {
  package var columns: Int
  package var rows: Int

  /// Defaults to 80 by 24 for what is 0, which means unknown.
  package init(columns: Int, rows: Int) {
    self.columns = columns > 0 ? columns : 80
    self.rows = rows > 0 ? rows : 24
  }
}

extension TerminalWindow {
  /// Queries the terminal; defaults to 80 by 24.
  ///
  /// Ignores COLUMNS, which is not updated when the window is resized.
  package init(of descriptor: Int32) {
    let size = Self.size(of: descriptor)
    self.init(columns: Int(size.ws_col), rows: Int(size.ws_row))
  }

  /// The size by `ioctl(2)` with TIOCGWINSZ; 0 if it is unknown, as on a serial line.
  static func size(of descriptor: Int32) -> winsize {
    var size = winsize()
    return ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0 ? size : winsize()
  }

  /// Sets the size by `ioctl(2)` with TIOCSWINSZ; the foreground processes receive SIGWINCH if it
  /// changes.
  ///
  /// Returns -1 if it fails.
  @discardableResult
  func apply(to descriptor: Int32) -> Int32 {
    var size = winsize(
      ws_row: UInt16(clamping: rows), ws_col: UInt16(clamping: columns), ws_xpixel: 0, ws_ypixel: 0)
    return ioctl(descriptor, UInt(TIOCSWINSZ), &size)
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

import SerialqSystem

/// Keeps lines at the bottom of the terminal up to date for as long as a command works.
///
/// Draws when it is told that something may have changed, and once a second while it shows a time
/// that grows. Makes room for the shell on Ctrl-Z, and draws nothing while the terminal is the
/// shell's.
struct LiveDisplay {
  private let signals: TerminalSignals
  private let colour: Bool
  private var window = TerminalWindow(of: STDOUT_FILENO)
  private var clock = FrameClock(startedAt: Clock.monotonic())
  /// When, by the monotonic clock, the times on the screen are written differently.
  private var next: Int64?

  /// On standard output; `wake` has the command call ``nextFrame(on:)``.
  init(colour: Bool, wake: @escaping @Sendable () -> Void) {
    self.colour = colour
    signals = TerminalSignals(wake: wake)
  }

  /// What there is to draw on, if it is time for another frame; else what is on the screen stays.
  ///
  /// To be called whenever something may have changed.
  mutating func nextFrame(on output: inout Output) -> TerminalWindow? {
    let isBack = signals.takeStop()
    if isBack {
      // Off the screen first, or the shell would write into it.
      output.hide()
      signals.stop()
    }
    guard clock.changed(at: Clock.monotonic()) || isBack else { return nil }
    guard TerminalWindow.isOurs(STDOUT_FILENO) else {
      // Looked at again in a second: nobody says that `fg` has given the terminal back.
      next = Clock.monotonic() + 1_000_000_000
      output.hide()
      return nil
    }
    // Asked once a frame: its lines are made and counted for the same width.
    window = TerminalWindow(of: STDOUT_FILENO)
    return window
  }

  /// Shows the next frame; the times in it are written differently in `changesIn`, if there are any.
  mutating func show(_ lines: [StyledLine], changesIn: Duration?, on output: inout Output) {
    next = changesIn.map { Clock.monotonic() + Clock.nanoseconds($0) }
    output.show(lines, columns: window.columns, colour: colour)
  }

  /// How long to wait for something to happen before the next frame is due anyway.
  var timeoutMilliseconds: Int32? { clock.timeout(at: Clock.monotonic(), next: next) }
}

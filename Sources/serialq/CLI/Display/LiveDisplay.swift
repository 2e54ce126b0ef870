import SerialqSystem
import SerialqWatch

/// Keeps lines at the bottom of the terminal up to date while a command runs.
///
/// Draws after changes, and once a second while a running time is displayed. Erases the lines on
/// Ctrl-Z, and draws nothing while the shell is in the foreground.
struct LiveDisplay {
  private let signals: TerminalSignals
  private let color: Bool
  private var window = TerminalWindow(of: STDOUT_FILENO)
  private var clock = FrameClock(startedAt: Clock.monotonic())
  /// When a displayed time changes, by the monotonic clock.
  private var next: Int64?

  /// Draws on standard output; after `wake` the command must call ``nextFrame(on:)``.
  init(color: Bool, wake: @escaping @Sendable () -> Void) throws(Failure) {
    self.color = color
    signals = try TerminalSignals(wake: wake)
  }

  /// Returns the window if a frame is due; otherwise the screen stays unchanged.
  ///
  /// Call it whenever something may have changed.
  mutating func nextFrame(on output: inout Output) -> TerminalWindow? {
    let isBack = signals.takeStop()
    if isBack {
      // Erased first: otherwise the shell would print into the lines.
      output.hide()
      signals.stop()
    }
    guard clock.changed(at: Clock.monotonic()) || isBack else { return nil }
    guard TerminalWindow.isOurs(STDOUT_FILENO) else {
      // Checked again in a second, because no signal reports that `fg` gave the terminal back.
      next = Clock.monotonic() + 1_000_000_000
      output.hide()
      return nil
    }
    // Queried once per frame, so that the lines are formatted and counted for the same width.
    window = TerminalWindow(of: STDOUT_FILENO)
    // COLUMNS may only narrow the display: the terminal would wrap longer lines.
    let columns = Machine.variable("COLUMNS").flatMap { Int(decimal: $0) }
    window.columns = min(window.columns, columns ?? .max)
    return window
  }

  /// Draws a frame; the next is due after `interval`, in which a displayed time changes.
  mutating func show(_ lines: [StyledLine], every interval: Duration?, on output: inout Output) {
    next = interval.map { Clock.monotonic() + Clock.nanoseconds($0) }
    output.show(lines, columns: window.columns, color: color)
  }

  /// When the next frame is due without a change, by the monotonic clock.
  var deadline: Int64? { clock.deadline(next: next) }
}

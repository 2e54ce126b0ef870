import SerialqSystem

/// How a process ended.
package enum ExitStatus: Equatable {
  case exited(code: Int32)
  case killed(signal: Int32)

  /// Decodes what `waitpid(2)` says about a process that has ended.
  ///
  /// The macros that do this in C are not to be had in Swift; the layout is the same on Linux and
  /// macOS: the signal in the low seven bits, the exit code in the next eight above the eighth.
  init(waitStatus: Int32) {
    let signal = waitStatus & 0x7F
    self = signal == 0 ? .exited(code: (waitStatus >> 8) & 0xFF) : .killed(signal: signal)
  }

  /// As a shell says it: the exit code, or 128 and the signal.
  var shellCode: ExitCode {
    switch self {
    case .exited(let code): ExitCode(rawValue: code)
    case .killed(let signal): ExitCode(rawValue: 128 + signal)
    }
  }
}

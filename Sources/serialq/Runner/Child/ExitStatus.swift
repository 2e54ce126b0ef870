import SerialqSystem

package enum ExitStatus: Equatable {
  case exited(code: Int32)
  case killed(signal: Int32)

  /// Decodes the status of `waitpid(2)` for a process that has ended.
  ///
  /// Swift does not import the C macros. The layout is the same on Linux and macOS: the signal in
  /// bits 0 to 6, the exit code in bits 8 to 15.
  init(waitStatus: Int32) {
    let signal = waitStatus & 0x7F
    self = signal == 0 ? .exited(code: (waitStatus >> 8) & 0xFF) : .killed(signal: signal)
  }

  /// The exit code of a shell: the exit code itself, or 128 plus the signal.
  var shellCode: ExitCode {
    switch self {
    case .exited(let code): ExitCode(rawValue: code)
    case .killed(let signal): ExitCode(rawValue: 128 + signal)
    }
  }
}

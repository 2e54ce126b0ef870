import SerialqSystem

/// How a job's process ended, if that was observed.
package enum Ending: Equatable, Sendable {
  case exited(Int32)
  /// Terminated by the signal with this number.
  case killed(Int32)
  /// No process was started; holds the exit code of the job and the reason.
  case cannotRun(Int32, reason: Bytes)

  /// The highest number of a signal in a journal.
  static let highestSignal = 1_024
}

extension Ending {
  /// Nil if a signal terminated the process.
  package var exitCode: Int? {
    switch self {
    case .exited(let code), .cannotRun(let code, _): Int(code)
    case .killed: nil
    }
  }

  /// Nil unless a signal terminated the process.
  package var signalName: Bytes? {
    if case .killed(let signal) = self { Bytes(SignalName.of(signal).utf8) } else { nil }
  }
}

package enum EndCause: Equatable, Sendable {
  case itself
  /// A cancellation was requested.
  case cancelled
  /// The job exceeded its timeout.
  case timedOut
}

extension EndCause {
  mutating func code(_ coder: inout LineCoder) throws(FlatObjectError) {
    var (isCancelled, isTimedOut) = (self == .cancelled, self == .timedOut)
    try coder.flag("wasCancelled", &isCancelled)
    try coder.flag("timedOut", &isTimedOut)
    self = isCancelled ? .cancelled : isTimedOut ? .timedOut : .itself
  }
}

extension Ending {
  /// Codes an ending whose members have these names: a line can have two.
  static func code(
    _ ending: inout Ending?,
    _ names: (exit: StaticString, signal: StaticString, cannot: StaticString, reason: StaticString),
    _ coder: inout LineCoder
  ) throws(FlatObjectError) {
    var (exit, signal, cannot): (Int32?, Int32?, Int32?) = (nil, nil, nil)
    var reason: Bytes?
    switch ending {
    case .exited(let code): exit = code
    case .killed(let number): signal = number
    case .cannotRun(let code, let text): (cannot, reason) = (code, text)
    case nil: break
    }
    try coder.number(names.exit, &exit, 0...Int(Int32.max))
    try coder.number(names.signal, &signal, 1...highestSignal)
    try coder.number(names.cannot, &cannot, 0...255)
    try coder.bytes(names.reason, &reason)
    ending =
      exit.map(Ending.exited) ?? signal.map(Ending.killed)
      ?? cannot.map { .cannotRun($0, reason: reason ?? []) }
  }
}

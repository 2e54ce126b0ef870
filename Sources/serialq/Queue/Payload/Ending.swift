import SerialqSystem

/// How a job's process ended, if that was observed.
package enum Ending: Equatable, Sendable {
  case exited(Int32)
  /// Terminated by the signal with this number.
  case killed(Int32)
  /// No process was started; holds the exit code of the job and the reason.
  case cannotRun(Int32, reason: Bytes)
}

package enum EndCause: Equatable, Sendable {
  case itself
  /// A cancellation was requested.
  case cancelled
  /// The job exceeded its timeout.
  case timedOut
}

extension EndCause {
  init(from object: inout FlatObject) throws(FlatObjectError) {
    if try object.flag("cancelled") {
      self = .cancelled
    } else {
      self = try object.flag("timedOut") ? .timedOut : .itself
    }
  }
}

extension Ending {
  func encode(to json: inout JSONWriter) {
    switch self {
    case .exited(let code): json.member("exit", Int(code))
    case .killed(let signal): json.member("signal", Int(signal))
    case .cannotRun(let code, let reason):
      json.member("cannot", Int(code))
      json.member("reason", reason)
    }
  }

  init(from object: inout FlatObject) throws(FlatObjectError) {
    if object.has("exit") {
      self = .exited(Int32(try object.number("exit", 0...Int(Int32.max))))
    } else if object.has("signal") {
      self = .killed(try object.signal())
    } else {
      self = .cannotRun(
        Int32(try object.number("cannot", 0...255)), reason: try object.bytes("reason"))
    }
  }
}

extension FlatObject {
  mutating func signal() throws(FlatObjectError) -> Int32 { Int32(try number("signal", 1...1024)) }
}

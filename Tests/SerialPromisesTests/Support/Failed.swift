import Foundation

/// The error that tests fail steps with.
struct Failed: Error, Equatable {
  var number = 0
}

/// Whether the long variants are wanted: more steps, more states.
let isLong = ProcessInfo.processInfo.environment["SERIALQ_LONG"] == "1"

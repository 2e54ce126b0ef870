import SerialqQueue
import SerialqSystem

extension JobState {
  var color: Color? {
    switch self {
    case .waiting, .cancelled, .skipped: .dim
    case .running: .bold
    case .succeeded: .green
    case .failed, .killed, .timedOut, .interrupted: .red
    }
  }
}

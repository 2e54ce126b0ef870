/// What serialq itself could not do: what was tried, why it did not work, and what to do next.
///
/// Printed as `serialq: what: why`, then `next` on a line of its own. The process exits with `code`.
struct Failure: Error, Equatable, CustomStringConvertible {
  var what: String
  var why: String
  var next: String?
  var code: ExitCode

  init(_ what: String, _ why: String, next: String? = nil, code: ExitCode = .cannot) {
    self.what = what
    self.why = why
    self.next = next
    self.code = code
  }

  /// What was tried and why it did not work.
  var sentence: String { "\(what): \(why)" }

  var description: String {
    let message = "serialq: \(sentence)"
    return next.map { "\(message)\n\($0)" } ?? message
  }
}

/// The exit codes of the program, as `timeout(1)` and `env(1)` use them.
struct ExitCode: Equatable {
  var rawValue: Int32

  static let success = ExitCode(rawValue: 0)
  static let jobFailed = ExitCode(rawValue: 1)
  static let timedOut = ExitCode(rawValue: 124)
  /// serialq itself could not: usage, spool, no such job.
  static let cannot = ExitCode(rawValue: 125)
  static let cannotExecute = ExitCode(rawValue: 126)
  static let notFound = ExitCode(rawValue: 127)
}

/// What serialq itself could not do: what was tried, why it did not work, and what to do next.
///
/// Printed as `serialq: what: why`, then `next`, which says what state things are in and what to do, on
/// lines of its own: nobody is left with a fault and no way on. The process exits with `code`.
@usableFromInline package struct Failure: Error, Equatable, CustomStringConvertible {
  package var what: String
  var why: String
  var next: String
  package var code: ExitCode

  package init(_ what: String, _ why: String, next: String, code: ExitCode = .cannot) {
    self.what = what
    self.why = why
    self.next = next
    self.code = code
  }

  /// What was tried and why it did not work.
  ///
  /// Here names and paths that somebody else chose become visible text, so that none of the many
  /// places that name them can forget it.
  package var sentence: String { Visible.text(Bytes("\(what): \(why)".utf8)) }

  @usableFromInline package var description: String {
    let lines = next.split(separator: "\n").map { Visible.text(Bytes($0.utf8)) }
    return (["serialq: \(sentence)"] + lines).joined(separator: "\n")
  }

  /// The same, and that all is not lost: who believes so does it again, and jobs run twice.
  package func adding(_ next: String) -> Failure {
    Failure(what, why, next: next, code: code)
  }
}

/// The exit codes of the program, as `timeout(1)` and `env(1)` use them.
package struct ExitCode: Equatable {
  package var rawValue: Int32

  package init(rawValue: Int32) {
    self.rawValue = rawValue
  }

  package static let success = ExitCode(rawValue: 0)
  package static let jobFailed = ExitCode(rawValue: 1)
  package static let timedOut = ExitCode(rawValue: 124)
  /// serialq itself could not: usage, spool, no such job.
  package static let cannot = ExitCode(rawValue: 125)
  package static let cannotExecute = ExitCode(rawValue: 126)
  package static let notFound = ExitCode(rawValue: 127)
}

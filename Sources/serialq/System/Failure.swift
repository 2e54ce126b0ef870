/// An error of serialq itself: what failed, why, and what to do next.
///
/// Prints as `serialq: what: why`, followed by `next` on its own lines. `next` states what was
/// changed and how to proceed, so that no error leaves the user without a next step. The process
/// exits with `code`.
package struct Failure: Error, Equatable, CustomStringConvertible {
  package var what: String
  package var why: String
  var next: String
  package var code: ExitCode
  /// The error number of the system call that failed, if one did.
  package internal(set) var number: Int32?
  /// Whether a file is refused because serialq did not create it: then no other command helps.
  var isRefusal = false

  package init(
    _ what: String, _ why: String, next: String, code: ExitCode = .cannot, number: Int32? = nil
  ) {
    self.what = what
    self.why = why
    self.next = next
    self.code = code
    self.number = number
  }

  /// Whether it is a shortage that can pass: of processes, memory or descriptors.
  package var isShortage: Bool { [EAGAIN, ENOMEM, EMFILE, ENFILE].contains(number ?? 0) }

  /// What `work` finds; nil if it fails, except by a shortage: that says nothing about what was
  /// looked for.
  static func unlessShort<Found>(
    _ work: () throws(Failure) -> Found?
  ) throws(Failure) -> Found? {
    do throws(Failure) { return try work() } catch {
      if error.isShortage { throw error }
      return nil
    }
  }

  /// What failed and why.
  ///
  /// Escapes unprintable characters here, in one place. The names and paths in it are untrusted,
  /// and callers could forget to escape them.
  /// Bounds them here too: an argument of 100 KB would hide the reason.
  package var sentence: String { "\(Self.shown(what)): \(Self.shown(why))" }

  private static func shown(_ text: String) -> String {
    Visible.text(Bytes(text.utf8)).cut(to: longest)
  }

  /// In columns.
  private static let longest = 1_000

  package var description: String {
    let lines = next.split(separator: "\n").map { Visible.text(Bytes($0.utf8)) }
    return (["serialq: \(sentence)"] + lines).joined(separator: "\n")
  }

  /// The same failure, of what an option names.
  package func of(_ option: String) -> Failure {
    var failure = self
    failure.what = "\(option) \(what)"
    return failure
  }

  /// The same failure with a different next step.
  ///
  /// For failures after part of the work was saved: the default advice would lead the user to
  /// repeat the command, and the jobs would run twice.
  package func adding(_ next: String) -> Failure {
    Failure(what, why, next: next, code: code)
  }

  /// The same failure after a part of the work was saved, which `done` says.
  package func after(_ done: String, next: String) -> Failure {
    isRefusal ? noting(done) : adding("\(done) \(next)")
  }

  /// The same failure with a sentence before the next step.
  package func noting(_ sentence: String) -> Failure { adding("\(sentence) \(next)") }
}

/// The exit codes of the program, which follow `timeout(1)` and `env(1)`.
package struct ExitCode: Equatable {
  package var rawValue: Int32
  /// The signal that ended the command, if one did: the process ends by it too.
  package private(set) var signal: Int32?

  package init(rawValue: Int32) {
    self.rawValue = rawValue
  }

  /// The command was ended by this signal.
  ///
  /// A process that exits with 130 instead does not end the loop of its shell.
  package static func ended(by signal: Int32) -> ExitCode {
    var code = ExitCode(rawValue: 128 + signal)
    code.signal = signal
    return code
  }

  package static let success = ExitCode(rawValue: 0)
  package static let jobFailed = ExitCode(rawValue: 1)
  package static let timedOut = ExitCode(rawValue: 124)
  /// serialq itself failed: wrong usage, an unusable spool, no such job.
  package static let cannot = ExitCode(rawValue: 125)
  package static let cannotExecute = ExitCode(rawValue: 126)
  package static let notFound = ExitCode(rawValue: 127)
}

import SerialqQueue
import SerialqSystem

/// Explains why a call to another machine failed.
struct HostFailure {
  let address: HostAddress
  let plan: HostPlan

  private var host: String { "host \(address.text)" }

  /// A command that shows the state there.
  private var look: String {
    "serialq --host \(ShellQuote.word(Bytes(address.text.utf8))) status --all"
  }

  /// How a connection failed before the program there answered.
  enum Cause: Equatable {
    /// ssh could not connect; `isFinal` is whether trying again at once cannot help.
    case unreachable(isFinal: Bool)
    case missing
    case cannotExecute
    /// The program there does not know calls from other machines.
    case older
    case other
  }

  /// Classifies the end of ssh by its exit code, and by what it has written.
  static func cause(_ ending: Ending, _ text: Bytes) -> Cause {
    switch ending {
    case .killed, .cannotRun: .unreachable(isFinal: false)
    case .exited(255): .unreachable(isFinal: isFinal(text.text))
    // csh exits with 1 if there is no such program.
    case .exited(127), .exited(1): .missing
    case .exited(126): .cannotExecute
    case .exited(125): .older
    case .exited: .other
    }
  }

  /// Whether ssh gives a reason that is not a lost connection; of one that is cut while it begins, it
  /// often gives none.
  private static func isFinal(_ text: String) -> Bool {
    [
      "Could not resolve", "Permission denied", "Connection refused", "Connection timed out",
      "No route to host", "unreachable", "verification failed", "HOST IDENTIFICATION",
      "authentication failures", "configuration option", "no matching", "No such file",
    ].contains { text.contains($0) }
  }

  /// The failure before the program there answered.
  func unanswered(_ cause: Cause, line: String?, version: String?) -> Failure {
    let nothing = "Nothing was changed."
    switch cause {
    case .unreachable:
      let ssh = ShellQuote.word(address.destination)
      return Failure(
        host, line ?? "ssh cannot connect", next: "\(nothing) This must work first: ssh \(ssh) true"
      )
    case .missing:
      return Failure(
        host, address.program == nil ? "serialq is not installed there" : "no such program there",
        next: """
          \(nothing) Install it there in a folder that is in PATH for ssh, or give its path:
          serialq --host \(ShellQuote.word(address.destination)):/path/of/serialq \(plan.name)
          """)
    case .cannotExecute:
      return Failure(
        host, line ?? "serialq cannot be executed there", next: "\(nothing) Install it there again."
      )
    case .older:
      let its = version.map { "version \($0)" } ?? "an older version"
      return Failure(
        host, "serialq there is \(its), which answers no calls; this is \(CommandTable.version)",
        next: "\(nothing) Install the same version there.")
    case .other:
      return Failure(
        host, line ?? "ssh ended without an answer of serialq",
        next: "\(nothing) Is that program serialq, and does the login shell there execute commands?"
      )
    }
  }

  /// The failure if the program there does not know the messages of this one.
  func refused(_ greeting: HostGreeting) -> Failure {
    Failure(
      host, "serialq there is version \(greeting.program), and this is \(CommandTable.version)",
      next: "Nothing was changed. Install the same version on both machines.")
  }

  /// The failure if the other side sends something else.
  var garbled: Failure {
    Failure(
      host, "it sent something that is not a message of serialq",
      next: "See what was done: \(look)")
  }

  /// The failure if the connection was lost, and did not come back or not in time.
  func lost(hasPrinted: Bool, line: String? = nil) -> Failure {
    let next =
      switch (plan.name, plan.again) {
      case ("add", _): "The jobs may have been queued. See: \(look)"
      case ("run", _):
        """
        If the runner there does not hear from this machine again, it stops in ten minutes, as if \
        its terminal had closed. See: \(look)
        """
      case ("wait", _), ("attach", _), ("log", _): "The jobs there continue. See: \(look)"
      case (_, .never): "The command may have been carried out. See: \(look)"
      default:
        hasPrinted ? "The output is incomplete. Try again." : "Nothing was changed. Try again."
      }
    let reason = line.map { ": \($0)" } ?? ""
    return Failure(host, "the connection was lost\(reason)", next: next)
  }
}

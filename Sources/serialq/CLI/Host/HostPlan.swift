import SerialqSystem

/// How a command is carried out on another machine.
struct HostPlan: Equatable {
  /// The name of the command, for messages.
  var name: String
  var input = HostCall.Input.none
  var again = Again.never

  /// When a call begins again on a machine that does not know it any more, because the process that
  /// carried it out was killed.
  enum Again: Equatable {
    /// It changes nothing.
    case always
    /// It changes nothing a second time, and prints the same.
    case alike
    /// As long as nothing was printed.
    case ifSilent
    /// It may have been carried out.
    case never
  }

  /// Nil for a command that is carried out on this machine.
  init?(_ invocation: Invocation) {
    guard case .command(let command) = invocation else { return nil }
    if command is HelpCommand || command is CompletionCommand { return nil }
    name = type(of: command).name
    switch command {
    case let add as AddCommand:
      input = add.source.readsInput || add.job.readsInput ? .all : .none
      // The journal knows the key of the call.
      again = .alike
    case let run as RunCommand:
      if run.source?.readsInput == true || run.job.readsInput { input = .all }
      if run.job.hasTerminal { input = .keys }
      again = .ifSilent
    case let edit as EditCommand: input = edit.changes.isEmpty ? .keys : .none
    case is AttachCommand:
      input = .keys
      again = .always
    case is WaitCommand: again = .always
    case let status as StatusCommand: again = status.watches ? .always : .ifSilent
    case is ListCommand, is ShowCommand, is LogCommand, is QueuesCommand, is ReportCommand:
      again = .ifSilent
    default: break
    }
  }

  /// Whether the call may begin again.
  ///
  /// If no answer came on any connection, it is taken not to have arrived.
  func beginsAgain(wasAnswered: Bool, hasPrinted: Bool) -> Bool {
    switch again {
    case .always, .alike: true
    case .ifSilent: !hasPrinted
    case .never: !wasAnswered
    }
  }
}

extension JobSource {
  /// Whether the jobs come from standard input.
  fileprivate var readsInput: Bool {
    if case .file(let path) = self { path == Bytes("-") } else { false }
  }
}

extension JobOptions {
  /// Whether the input of the jobs comes from standard input.
  fileprivate var readsInput: Bool { input == Bytes("-") }
}

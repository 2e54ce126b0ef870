import SerialqQueue
import SerialqSystem

/// What `edit` changes in a job; nil and empty values change nothing.
struct JobChanges: Equatable {
  var command: Command?
  /// Empty to remove the label.
  var label: Bytes?
  var directory: Bytes?
  /// `NAME=VALUE`.
  var environment: [Bytes] = []
  var timeout: Int?
  var retries: Int?
  var retryDelay: Int?
  var ifOK = false
  /// Replaces the jobs that must succeed first.
  var after = JobSelection()
  /// Removes both conditions.
  var isUnconditional = false
  /// Whether the job gets a terminal of its own.
  var hasTerminal: Bool?

  var isEmpty: Bool { self == JobChanges() }

  /// Whether conditions are given; those apply also to a job that was retried without them.
  var hasConditions: Bool { ifOK || !after.isEmpty }
}

extension OptionName {
  fileprivate static var unconditional: Self { Self("unconditional") }
  fileprivate static var noTTY: Self { Self("no-tty") }
}

extension JobChanges {
  static let options: [OptionSpec] = {
    let names: [OptionName] = [
      .name, .directory, .tty, .env, .shell, .timeout, .retries, .retryDelay, .ifOK, .after,
    ]
    var options = JobOptions.options.filter { names.contains($0.name) }
    for (index, option) in options.enumerated() {
      switch option.name {
      case .name: options[index].help = "The label; '' removes it."
      case .directory: options[index].help = "Runs the job in DIR."
      case .shell: options[index].help = "The new command line, of any form."
      case .after: options[index].details = "Only jobs that were added before this one."
      default: break
      }
      if option.name != .after { options[index].details = "" }
    }
    return options + [
      OptionSpec(.unconditional, help: "Removes --if-ok and --after."),
      OptionSpec(.noTTY, help: "Removes --tty; set tty on still applies."),
    ]
  }()

  init(parsing words: ParsedArguments) throws(Failure) {
    var rest = words
    rest.operands = Array(words.operands.dropFirst())
    // `edit -- ID` has no command.
    rest.afterDashes = words.afterDashes && words.operandsBeforeDashes > 0
    if case .command(let command)? = try JobSource.parse(rest) { self.command = command }
    label = words.value(.name)
    directory = words.value(.directory)
    environment = words.values(.env)
    timeout = words.seconds(.timeout)
    retries = words.number(.retries)
    retryDelay = words.seconds(.retryDelay)
    ifOK = words.has(.ifOK)
    after = JobSelection(words.values(.after))
    isUnconditional = words.has(.unconditional)
    if isUnconditional, hasConditions {
      throw words.misused("--unconditional", "cannot be combined with --if-ok or --after")
    }
    if words.has(.tty) || words.has(.noTTY) { hasTerminal = words.has(.tty) }
    if words.has(.tty), words.has(.noTTY) {
      throw words.misused("--no-tty", "cannot be combined with --tty")
    }
  }

  /// The new command of the job, and its other properties if they change.
  func applied(
    to job: Job, in queue: Queue, _ name: String, _ folder: QueueFolder, _ scope: JournalScope
  ) throws(Failure) -> (Command, EditedOptions?) {
    let command = command ?? job.command
    var variables: [Bytes] = []
    var options = EditedOptions(
      context: job.context, label: job.label, terminal: job.terminal, limits: job.limits)
    if hasTerminal == true, job.input != nil { throw Self.hasInput(job.id, in: name) }
    if !environment.isEmpty {
      let old = try Environments(folder).load(job.context.environment)
      variables = Adding.environment(old, overriding: environment)
    }
    if let fault = ExecutionLimits.current.fault(in: command, environment: variables) {
      throw Self.refusal(of: job.id, fault, in: name)
    }
    if let directory { options.context.directory = try Adding.directory(directory) }
    if let label { options.label = label.isEmpty ? nil : label }
    if let hasTerminal { options.terminal = hasTerminal ? .ofCaller : nil }
    if let timeout { options.limits.timeout = timeout }
    if let retries { options.limits.retries = retries }
    if let retryDelay { options.limits.retryDelay = retryDelay }
    if ifOK { options.limits.ifOK = true }
    if !after.isEmpty { options.limits.after = try required(by: job, in: queue, name) }
    if isUnconditional {
      options.limits.ifOK = false
      options.limits.after = []
    }
    // Last, after all that can fail.
    if !environment.isEmpty { options.context.environment = try scope.storeEnvironment(variables) }
    let isSame =
      options.context == job.context && options.label == job.label
      && options.terminal == job.terminal && options.limits == job.limits
    return (command, isSame && !hasConditions ? nil : options)
  }

  private func required(
    by job: Job, in queue: Queue, _ name: String
  ) throws(Failure) -> [ClosedRange<JobID>] {
    let ranges = try queue.ranges(of: after, in: name)
    guard let last = ranges.last?.upperBound, last >= job.id else { return ranges }
    let why =
      last == job.id ? "it cannot run after itself" : "job \(last) was added later than it"
    let option = QueueName.option(for: name)
    throw Failure(
      "job \(job.id)", why,
      next:
        "Nothing was changed. --after takes jobs that were added before: \(serialq) list\(option)")
  }

  private static func hasInput(_ id: JobID, in queue: String) -> Failure {
    Failure(
      "job \(id)", "its standard input is a file, and so no terminal",
      next: """
        Nothing was changed. See the file: \(serialq) show\(QueueName.option(for: queue)) \(id)
        """)
  }

  static func refusal(of id: JobID, _ why: String, in queue: String) -> Failure {
    Failure(
      "the command of job \(id)", why,
      next: """
        Nothing was changed. To cancel the job: \(serialq) cancel\(QueueName.option(for: queue)) \(id)
        """)
  }
}

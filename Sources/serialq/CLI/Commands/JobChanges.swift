import SerialqQueue
import SerialqSystem

/// What `edit` changes in a job.
struct JobChanges: Equatable {
  var command: Command?
  /// `after` replaces the jobs that must succeed first.
  var options: JobOptions
  /// Removes both conditions.
  var isUnconditional = false

  var isEmpty: Bool { self == JobChanges(options: JobOptions(queue: options.queue)) }

  /// Whether conditions are given; those apply also to a job that was retried without them.
  var hasConditions: Bool { options.ifOK || !options.after.isEmpty }
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
      default: break
      }
    }
    return options + [
      OptionSpec(.unconditional, help: "Removes --if-ok and --after."),
      OptionSpec(.noTTY, help: "Removes --tty; set tty on still applies."),
    ]
  }()

  init(parsing words: ParsedArguments, queue: String) throws(Failure) {
    options = try JobOptions(parsing: words, queue: queue, forNewJobs: false)
    var rest = words
    rest.operands = Array(words.operands.dropFirst())
    // `edit -- ID` has no command.
    rest.afterDashes = words.afterDashes && words.operandsBeforeDashes > 0
    if case .command(let command)? = try JobSource.parse(rest) { self.command = command }
    isUnconditional = words.has(.unconditional)
    if isUnconditional, hasConditions {
      throw words.misused("--unconditional", "cannot be combined with --if-ok or --after")
    }
    try words.refuse(.noTTY, with: .tty)
    if words.has(.noTTY) { options.hasTerminal = false }
  }

  /// What the job is asked to do after the changes.
  func applied(
    to job: Job, in queue: Queue, _ scope: JournalScope
  ) throws(Failure) -> JobSpec {
    var variables: [Bytes] = []
    var edited = job.spec
    if let command { edited.command = command }
    edited.details.limits = options.limits(job.limits)
    if options.hasTerminal == true, job.input != nil { throw hasInput(job.id) }
    if !options.environment.isEmpty {
      let old = try Environments(scope.folder).load(job.context.environment)
      variables = old.overridden(by: options.environment)
    }
    if let fault = ExecutionLimits.current.fault(in: edited.command, environment: variables) {
      throw refusal(of: job.id, fault)
    }
    if let directory = options.directory {
      edited.context.directory = try Submission.directory(directory)
    }
    if let label = options.label { edited.details.label = label.isEmpty ? nil : label }
    if let hasTerminal = options.hasTerminal {
      edited.details.terminal = hasTerminal ? .ofCaller : nil
    }
    if !options.after.isEmpty { edited.details.limits.after = try required(by: job, in: queue) }
    if isUnconditional {
      edited.details.limits.ifOK = false
      edited.details.limits.after = []
    }
    // Last, after all that can fail.
    if !options.environment.isEmpty {
      edited.context.environment = try scope.storeEnvironment(variables)
    }
    return edited
  }

  private func required(
    by job: Job, in queue: Queue
  ) throws(Failure) -> [ClosedRange<JobID>] {
    let ranges = try queue.ranges(of: options.after, in: options.queue)
    guard let last = ranges.last?.upperBound, last >= job.id else { return ranges }
    let why =
      last == job.id ? "it cannot run after itself" : "job \(last) was added later than it"
    throw Failure(
      "job \(job.id)", why,
      next: """
        Nothing was changed. --after takes jobs that were added before: \
        \(advised("list", in: options.queue))
        """)
  }

  private func hasInput(_ id: JobID) -> Failure {
    Failure(
      "job \(id)", "its standard input is a file, and so no terminal",
      next: "Nothing was changed. See the file: \(advised("show", in: options.queue)) \(id)")
  }

  func refusal(of id: JobID, _ why: String) -> Failure {
    Failure(
      "the command of job \(id)", why,
      next: "Nothing was changed. To cancel the job: \(advised("cancel", in: options.queue)) \(id)")
  }
}

import SerialqQueue
import SerialqSystem

/// `serialq add`: adds jobs and prints their ids.
struct AddCommand: Equatable {
  var job: JobOptions
  var source: JobSource
  var startsRunner = true
  var key: Bytes?
  var json: Bool
}

extension AddCommand: Subcommand {
  static let spec = CommandSpec(
    name: .add,
    summary: "queue a job and print its id",
    synopsis: [
      "add [options] 'COMMAND LINE'",
      "add [options] [--] PROGRAM ARGUMENT...",
      "add [options] -c LINE",
      "add [options] -f FILE",
    ],
    description: [
      """
      Returns when the job is durable on disk, and starts a runner if none is active. The job has \
      the directory, environment and umask of this call, but no input.
      """,
      """
      One argument is a command line for the shell. Several, or all after --, are a program and its \
      exact arguments. Options end at the command's first word.
      """,
    ],
    options: JobOptions.options + [
      OptionSpec(.noStart, help: "Starts no runner. serialq run or start starts it."),
      OptionSpec(
        .key, value: OptionValue(.text, "KEY"),
        help: "Adds nothing if the queue has jobs with this KEY."),
      OptionSpec(.json, help: "Prints the ids as a JSON object."),
    ],
    operands: .jobCommand,
    examples: [
      Example("serialq add 'make && make test'", "a command line"),
      Example("serialq add -q video -n intro ./render intro", "another queue, a label"),
      Example("serialq add -C build -c 'make -k'", "another directory"),
      Example("serialq add --after 3,test ./deploy", "after their success"),
    ]
  )

  init(parsing words: ParsedArguments, queue: String) throws(Failure) {
    guard let source = try JobSource.parse(words) else {
      throw Failure(
        "add", "no command is given", next: "For example: \(advised("add")) 'make && make test'")
    }
    // As from a variable that is not set: all such calls would be one.
    if words.value(.key)?.isEmpty == true { throw words.misused("--key ''", "a key is not empty") }
    try words.refuse(.key, with: .unique, why: ": only one decides")
    self.init(
      job: try JobOptions(parsing: words, queue: queue), source: source,
      startsRunner: !words.has(.noStart), key: words.value(.key), json: words.has(.json))
  }

  func perform(in session: inout Session) throws(Failure) -> ExitCode {
    let submission = try Submission(source, job)
    submission.reportMissingFiles(to: session.output)
    let folder = try session.folder(for: job)
    let added = try submission.append(
      to: folder, startsRunner: startsRunner, key: key)
    let ids = added.ids
    for id in added.found where session.messageTraits.isTerminal || !json {
      session.output.message("serialq: not added: job \(id) \(added.has)")
    }
    let text = JobID.text(of: ids, separator: " ")
    if json {
      session.result(json: document(ids, folder))
    } else {
      session.output.result("\(text)\n")
    }
    if added.isPaused, startsRunner { session.reportPaused(job.queue) }
    let next = "See: \(advised("status", in: job.queue))"
    if let failure = added.failure { throw failure.after(queued(ids), next: next) }
    do throws(Failure) {
      try session.output.flush()
    } catch {
      // The message says that the jobs were added: otherwise the user repeats the command, and they
      // run twice.
      throw error.after(queued(ids), next: next)
    }
    return .success
  }

  private func queued(_ ids: [JobID]) -> String {
    let text = JobID.text(of: ids, separator: ", ")
    let jobs = ids.count == 1 ? "Job \(text) is" : "Jobs \(text) are"
    return "\(jobs) queued despite this error; do not add \(ids.count == 1 ? "it" : "them") again."
  }

  private func document(_ ids: [JobID], _ folder: QueueFolder) -> Bytes {
    JSONWriter.line {
      $0.object { json in
        json.member("version", 1)
        json.member("queue", Bytes(folder.name.utf8))
        json.key("ids")
        json.array { json in for id in ids { json.int(Int64(id)) } }
      }
    }
  }
}

import SerialqSystem

/// The commands that change waiting or finished jobs.
extension CommandTable {
  static let cancel = CommandSpec(
    name: .cancel,
    summary: "keep jobs from running, or end them",
    synopsis: ["cancel [options] ID...", "cancel [options] --all", "cancel [options] --running"],
    description: [
      """
      A job that waits never runs; jobs after it that were added with --if-ok are skipped. A job \
      that runs is sent SIGTERM with its whole process group, and SIGKILL 10 seconds later. \
      Returns when that is asked for; serialq wait ID waits for the end.
      """
    ],
    options: [
      queue,
      OptionSpec(.all, help: "All jobs that wait or run."),
      OptionSpec(.running, help: "The job that runs."),
      OptionSpec(
        .signal, value: OptionValue(.signal, "SIGNAL"),
        help: "Sends this signal first instead of SIGTERM; KILL ends a job at once."
      ),
    ],
    operands: .jobIDs,
    examples: [
      Example("serialq cancel 12", "job 12"),
      Example("serialq cancel --running --signal INT", "as Ctrl-C would"),
    ]
  )

  static let retry = CommandSpec(
    name: .retry,
    summary: "queue jobs that are over again",
    synopsis: ["retry [options] ID...", "retry [options] --failed"],
    description: [
      """
      The same job waits again, with the same command, directory and environment, and its next \
      run is its next attempt. Its log is then that of the new attempt.
      """,
      """
      --failed takes all failures that are not acknowledged, and the jobs that were skipped \
      because of them, in their order.
      """,
    ],
    options: [
      queue,
      OptionSpec(.failed, help: "All open failures, and what was skipped for them."),
      OptionSpec(.first, help: "Puts them before all that wait, else they go to the end."),
    ],
    operands: .jobIDs,
    examples: [
      Example("serialq retry 12", "job 12, at the end"),
      Example("serialq retry --failed --first", "all that failed, now"),
    ]
  )

  static let move = CommandSpec(
    name: .move,
    summary: "reorder the jobs that wait",
    synopsis: [
      "move [options] ID --first", "move [options] ID --last", "move [options] ID --before ID",
    ],
    description: ["Puts a job that waits elsewhere among those that wait."],
    options: [
      queue,
      OptionSpec(.first, help: "Before all others."),
      OptionSpec(.last, help: "After all others."),
      OptionSpec(
        .before, value: OptionValue(.jobID, "ID"), help: "Right before another job that waits."),
    ],
    operands: .jobID,
    examples: [
      Example("serialq move 12 --first", "job 12 is next"),
      Example("serialq move 12 --before 9", "job 12, then job 9"),
    ]
  )

  static let edit = CommandSpec(
    name: .edit,
    summary: "change the command of a job that waits",
    synopsis: ["edit [options] ID"],
    description: [
      """
      Opens the command in $VISUAL, else $EDITOR, else vi. What is saved becomes the job's command \
      line, for /bin/sh. If the job has started meanwhile, nothing is changed.
      """
    ],
    options: [queue],
    operands: .jobID,
    examples: [Example("serialq edit 12", "job 12")]
  )

  static let ack = CommandSpec(
    name: .ack,
    summary: "take note of failures",
    synopsis: ["ack [options] ID...", "ack [options] --all"],
    description: [
      """
      A failure is open until its job is acknowledged, retried or cleaned. serialq status leads \
      with the open ones, and serialq wait without ids does not succeed while there is one.
      """
    ],
    options: [queue, OptionSpec(.all, help: "All open failures.")],
    operands: .jobIDs,
    examples: [
      Example("serialq ack 12", "the failure of job 12"), Example("serialq ack --all", "all"),
    ]
  )

  static let clean = CommandSpec(
    name: .clean,
    summary: "forget finished jobs and delete their logs",
    synopsis: ["clean [options]"],
    description: [
      """
      Forgets jobs that are over; open failures only with --failed or --all. Jobs that wait or run \
      stay. With several options, only jobs to which all of them apply are forgotten.
      """
    ],
    options: [
      queue,
      OptionSpec(
        .olderThan, value: OptionValue(.duration, "TIME"),
        help: "Only jobs that have been over for longer than TIME."
      ),
      OptionSpec(
        .keep, value: OptionValue(.count, "N"), help: "All but the N that were over last."),
      OptionSpec(.failed, help: "Only jobs that failed, open failures too."),
      OptionSpec(.all, help: "Open failures too."),
    ],
    operands: .none,
    examples: [
      Example("serialq clean", "all but open failures"),
      Example("serialq clean --all --older-than 7d", "everything from before last week"),
    ]
  )
}

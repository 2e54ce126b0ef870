import SerialqSystem

/// The commands on whole queues.
extension CommandTable {
  static let wait = CommandSpec(
    name: .wait,
    summary: "wait until jobs, or the whole queue, are done",
    synopsis: ["wait [options] [ID...]"],
    description: [
      """
      With one id it exits as that job did, cancelled or not: with its exit code, with 128 and the \
      number of the signal that killed it, with 124 if it timed out. It exits with 1 if \
      the job has no code, as one that was interrupted, skipped, or cancelled before it ran, or if \
      it exited with 0 when it was cancelled. With several, it exits with 1 if any did not succeed.
      """,
      """
      Without ids it waits for the whole queue, and exits with 0 if everything in it is done and \
      no failure is open, else with 1.
      """,
      """
      Starts a runner if none is at work. In a paused queue what waits cannot be waited for: then \
      it fails at once, or, if the pause comes later, when the running job has ended.
      """,
    ],
    options: [
      queue,
      OptionSpec(
        .timeout, value: OptionValue(.duration, "TIME"),
        help: "Gives up after TIME, and exits with 124."
      ),
    ],
    operands: .jobIDs,
    examples: [
      Example("serialq wait && echo done", "the whole queue"),
      Example("serialq wait 12", "job 12, and its exit code"),
      Example("serialq wait --timeout 1h 3-7 9", "several, not for ever"),
    ]
  )

  static let pause = CommandSpec(
    name: .pause,
    summary: "let the running job end, start no other",
    synopsis: ["pause [options]"],
    description: ["Jobs can still be added; they wait until serialq resume. Survives a restart."],
    options: [queue, OptionSpec(.all, help: "All queues.")],
    operands: .none,
    examples: [Example("serialq pause", "the queue"), Example("serialq pause --all", "all queues")]
  )

  static let resume = CommandSpec(
    name: .resume,
    summary: "go on after a pause, a stop or a reboot",
    synopsis: ["resume [options]"],
    description: ["Ends the pause, and starts a runner in the background if there is work."],
    options: [queue, OptionSpec(.all, help: "All queues.")],
    operands: .none,
    examples: [
      Example("serialq resume", "the queue"),
      Example("serialq resume --all", "all queues, as after a reboot"),
    ]
  )

  static let set = CommandSpec(
    name: .set,
    summary: "show or change the settings of a queue",
    synopsis: [
      "set [options]", "set [options] on-failure continue|stop",
      "set [options] on-finish 'COMMAND LINE'", "set [options] keep N",
    ],
    description: [
      """
      on-failure stop pauses the queue when a job has failed for good: failed, killed, timed out \
      or interrupted, and no retry left.
      """,
      """
      on-finish names a command line that is run after each job, before the next one, for at most \
      60 seconds: with the directory and environment of this call, and SERIALQ_JOB, \
      SERIALQ_QUEUE, SERIALQ_STATE, SERIALQ_EXIT, SERIALQ_SIGNAL, SERIALQ_ATTEMPT, \
      SERIALQ_SECONDS, SERIALQ_LABEL, SERIALQ_COMMAND and SERIALQ_LOG. '' for none. Should it \
      fail, that changes nothing; show tells it, and status if it was the latest.
      """,
      """
      keep N forgets all but the N jobs that were over last, and their logs, but no open failure; \
      keep all keeps all. Whoever follows the queue, and whose reader is too slow, is told of \
      which jobs the output was gone.
      """,
    ],
    options: [queue],
    operands: .setting,
    examples: [
      Example("serialq set", "what is set"),
      Example("serialq set on-failure stop", "nothing after a failure"),
      Example("serialq set on-finish './tell $SERIALQ_JOB'", "be told"),
    ]
  )

  /// The names of the settings, and the fixed values of some.
  static let settings: [(name: String, choices: [String])] = [
    ("on-failure", ["continue", "stop"]), ("on-finish", []), ("keep", ["all"]),
  ]

  static let queues = CommandSpec(
    name: .queues,
    summary: "every queue with its counts",
    synopsis: ["queues [options]"],
    description: ["How many jobs wait, run, are done, and failed without being acknowledged."],
    options: [OptionSpec(.json, help: "Prints a JSON array.")],
    operands: .none,
    examples: [Example("serialq queues", "all queues")]
  )
}

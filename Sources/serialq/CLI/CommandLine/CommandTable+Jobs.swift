import SerialqQueue
import SerialqSystem

/// The commands that add jobs: `add` and `run`.
extension CommandTable {
  static let add = CommandSpec(
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
      Returns as soon as the job is safely on disk, and makes sure that a runner is at work in \
      the background. The job gets the directory, the environment and the umask of this call, \
      and nothing to read.
      """,
      """
      One argument is a command line for /bin/sh. Several, or what follows --, are a program and \
      its arguments, passed on exactly. Options stop at the first word of the command.
      """,
    ],
    details: [
      """
      Prints the id of the job, or the ids of several as a range such as 3-7. In a paused queue \
      the job waits until serialq resume, and a message says so.
      """
    ],
    options: jobOptions + [
      OptionSpec(.noStart, help: "Starts no runner; serialq run or resume does."),
      OptionSpec(.json, help: "Prints the ids as a JSON object."),
    ],
    operands: .jobCommand,
    examples: [
      Example("serialq add 'make && make test'", "a command line"),
      Example("serialq add ls -l", "a program and its argument"),
      Example("serialq add -q video -n intro ./render intro", "in a queue, with a label"),
      Example("serialq add -e CC=clang -C build -c 'make -k'", "elsewhere, with a variable"),
      Example("serialq add -f jobs.txt", "every line of a file"),
      Example("serialq add --if-ok ./deploy", "if the one before succeeded"),
    ]
  )

  static let run = CommandSpec(
    name: .run,
    summary: "run the queue here, until it is empty",
    synopsis: [
      "run [options]",
      "run [options] 'COMMAND LINE'",
      "run [options] [--] PROGRAM ARGUMENT...",
      "run [options] -c LINE",
      "run [options] -f FILE",
    ],
    description: [
      """
      Queues what is given, as add does, and runs the queue in the foreground, in order, until \
      nothing waits. If a runner is already at work, follows it instead.
      """,
      "Exits with 1 if a job failed, else with 0.",
    ],
    details: [
      """
      The jobs run to their end even if nobody reads the output any more, or it cannot be written. \
      In the second case it says so at the end, and exits with 125.
      """
    ],
    options: jobOptions,
    operands: .jobCommand,
    examples: [
      Example("serialq run", "what waits in the queue"),
      Example("serialq run make test", "and this, after it"),
      Example("printf '%s\\n' 'echo 1' 'echo 2' | serialq run -f -", "these, from a pipe"),
    ]
  )

  /// The queue option, shared by all commands that use a queue.
  static let queue = OptionSpec(
    .queue, short: "q", value: OptionValue(.queue, "NAME"),
    help: "The queue; else $SERIALQ_QUEUE, else \(QueueName.standard)."
  )

  private static let jobOptions: [OptionSpec] = [
    OptionSpec(
      .file, short: "f", value: OptionValue(.file, "FILE"),
      help: "Queues every line of FILE, all or none; - is stdin.",
      details: """
        Each is a command line for /bin/sh; blank lines and lines that start with # are skipped.
        """
    ),
    queue,
    OptionSpec(
      .name, short: "n", value: OptionValue(.text, "LABEL"),
      help: "A label to know the job by in lists."
    ),
    OptionSpec(
      .directory, short: "C", value: OptionValue(.directory, "DIR"),
      help: "Runs the job in DIR instead of the current one."
    ),
    OptionSpec(
      .env, short: "e", value: OptionValue(.assignment, "NAME=VALUE"), repeats: true,
      help: "Sets a variable of the job; may be given again.",
      details: """
        While add itself runs, everybody can see the value with ps(1): what is secret is better set in \
        the environment of the call, which the job gets too.
        """
    ),
    OptionSpec(
      .shell, short: "c", value: OptionValue(.commandLine, "LINE"),
      help: "The command line to run, whatever it looks like."
    ),
    OptionSpec(
      .timeout, value: OptionValue(.duration, "TIME"),
      help: "Ends the job after TIME: 90, 90s, 30m, 2h or 7d.",
      details: """
        Its process group is sent SIGTERM, and SIGKILL 10 seconds later; the job has then timed \
        out, which is a failure. Each attempt has the whole TIME.
        """
    ),
    OptionSpec(
      .retries, value: OptionValue(.count, "N"),
      help: "When it fails, runs it again, up to N times.",
      details: """
        At once, or after --retry-delay, and in any case before any other job: the order of the \
        queue stays what it was. N is \(ParsedArguments.mostCounted) at the most.
        """
    ),
    OptionSpec(
      .retryDelay, value: OptionValue(.duration, "TIME"),
      help: "Waits for TIME before each of these attempts.",
      details: "The jobs after it wait too."
    ),
    OptionSpec(
      .ifOK,
      help: "Skips the job unless the job before it succeeded.",
      details: """
        The job before it is the one whose turn was last, whichever was added first. One that was \
        skipped did not succeed, so that one failure skips a whole chain. A job that is cancelled \
        while it waits takes those that follow it with --if-ok with it. See ORDER below for retries.
        """
    ),
    OptionSpec(.first, help: "Puts the job before all that wait."),
    OptionSpec(
      .unique,
      help: "Adds nothing if the same command waits already.",
      details: """
        The same means: the same command, in the same directory; the environment, the label and \
        the other options are not compared. Prints the id of the job that waits, and a job that \
        runs or is over does not count.
        """
    ),
  ]
}

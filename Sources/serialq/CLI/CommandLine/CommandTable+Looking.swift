import SerialqQueue
import SerialqSystem

/// The read-only commands: `list`, `status`, `show`, `log`, `report`, `completion` and `help`.
extension CommandTable {
  static let list = CommandSpec(
    name: .list,
    summary: "list the jobs",
    synopsis: ["list [options]"],
    description: [
      """
      One job a line, in the order in which they run: id, state, exit, duration, label and \
      command. Columns that nothing uses are left out. A command is quoted so that pasting it \
      into a shell runs the same thing.
      """
    ],
    options: [
      queue,
      OptionSpec(
        .state, value: OptionValue(.choice(states), "STATE"), repeats: true,
        help: "Only jobs in this state: \(states.joined(separator: ", ")). May be given again."
      ),
      OptionSpec(.failed, help: "Only jobs that failed, in whatever way."),
      OptionSpec(.last, value: OptionValue(.count, "N"), help: "Only the last N of them."),
      OptionSpec(.json, help: "Prints one JSON object."),
    ],
    operands: .none,
    examples: [
      Example("serialq list", "everything"),
      Example("serialq ls --failed --last 5", "the latest five failures"),
      Example("serialq list --state waiting --json", "the work left, for jq"),
    ]
  )

  static let states = JobState.allCases.map { "\($0.name)" }

  static let status = CommandSpec(
    name: .status,
    summary: "what is going on; also what serialq alone shows",
    synopsis: ["[status] [options]"],
    description: [
      """
      Failures that nobody has taken note of first, with the end of their output; then the \
      running job, how many wait, how far it all is and about how long it will take, and the \
      next command worth typing.
      """,
      """
      With -w it is kept up to date on a terminal, until Ctrl-C; elsewhere a line tells of each \
      job that begins or ends. The exit code is 0, whatever became of the jobs: wait tells that.
      """,
    ],
    options: [
      queue,
      OptionSpec(.watch, short: "w", help: "Keeps it up to date until interrupted."),
      OptionSpec(.json, help: "Prints the counts and the running job as JSON."),
    ],
    operands: .none,
    examples: [
      Example("serialq", "what is going on"),
      Example("serialq -w", "and goes on telling"),
      Example("serialq status -q video", "in another queue"),
    ]
  )

  static let show = CommandSpec(
    name: .show,
    summary: "everything about one job",
    synopsis: ["show [options] ID"],
    description: [
      "The exact command, its directory, times, attempts, how it ended, and where its log is.",
      """
      That the on-finish command of the queue failed after it is told too: in JSON by \
      onFinishFailure, an object of exitCode and signal, else null.
      """,
    ],
    options: [
      queue,
      OptionSpec(.env, help: "Shows the job's environment too, which may hold secrets."),
      OptionSpec(.json, help: "Prints one JSON object, without the environment."),
    ],
    operands: .jobID,
    examples: [
      Example("serialq show 12", "job 12"),
      Example("serialq show 12 --env", "and its environment"),
    ]
  )

  static let log = CommandSpec(
    name: .log,
    summary: "a job's output",
    synopsis: ["log [-f] [options] [ID]"],
    description: [
      """
      Prints what the job wrote to its standard output and standard error, merged in order. \
      Without an id it is the job that runs or, if none does, the one that ran last. Of a job that \
      runs it is what there is by now.
      """,
      """
      With -f it waits for a queued job to start, prints as the job writes, and ends with the \
      job. Without an id, -f follows the queue from job to job.
      """,
    ],
    options: [
      queue,
      OptionSpec(.follow, short: "f", help: "Keeps printing as the output grows."),
    ],
    operands: .jobID,
    examples: [
      Example("serialq log 12", "what job 12 said"),
      Example("serialq log", "what the last job said"),
      Example("serialq log -f", "what the queue says, as it says it"),
    ]
  )

  static let report = CommandSpec(
    name: .report,
    summary: "when the jobs ran, drawn, here or as a page to keep",
    synopsis: ["report [options]"],
    description: [
      """
      Draws a line for each job along one scale of time, each state by a sign of its own. Times in \
      which nothing ran for long are cut out and marked; all times are UTC.
      """,
      """
      With --html it is a page, which needs neither a network nor a script: the timeline, how long \
      the jobs of each label took, the latest \(QueueReport.mostTroubles) failures with the end of \
      their output, and totals. It shows labels, commands and output: look before you send it on.
      """,
    ],
    details: [
      """
      What is drawn is bounded, what is counted is not. Earlier attempts at a job are drawn too, \
      for as long as the journal holds them: it forgets them when it is written anew. How long an \
      interrupted job ran is not known: its start is drawn. Of an output, the last \
      \(QueueReport.troubleLines) lines are shown, out of its last \(QueueReport.troubleBytes) bytes.
      """
    ],
    options: [
      queue,
      OptionSpec(
        .html, value: OptionValue(.file, "FILE"),
        help: "Writes a page to FILE, which is replaced; - is standard output."),
      OptionSpec(
        .last, value: OptionValue(.count, "N"),
        help: """
          Draws the last N jobs that have run, not \(QueueReport.rowsOnTerminal), or \
          \(QueueReport.rowsOnPage) on a page.
          """),
    ],
    operands: .none,
    examples: [
      Example("serialq report", "when what ran"),
      Example("serialq report --html queue.html", "as a page"),
      Example("serialq report -q video --last 200", "more of another queue"),
    ]
  )

  static let completion = CommandSpec(
    name: .completion,
    summary: "completion for a shell: bash, zsh or fish",
    synopsis: ["completion bash|zsh|fish", "completion -- words [WORD...]"],
    description: [
      """
      Prints a script that has the shell complete commands, options, queues and job ids, with \
      their commands shown. An installation puts it where the shells look for it.
      """
    ],
    details: [
      """
      The second form is what these scripts call: it prints what the last WORD, which may be \
      empty, can become after those before it. The first line is words, files N, directories N or \
      command N. After words, each line is a word, and behind a tab what it stands for, in \
      printable characters. Names of files or directories take the place of the last WORD but for \
      its first N bytes; command N says that the words from number N on, counted from 1, are a \
      command of their own. It never fails: where nothing can be found out, there is no line.
      """
    ],
    options: [],
    operands: .completion,
    examples: [
      Example(#"eval "$(serialq completion bash)""#, "in ~/.bashrc"),
      Example("serialq completion fish | source", "in config.fish"),
    ]
  )

  static let help = CommandSpec(
    name: .help,
    summary: "help, also of one command",
    synopsis: ["help [COMMAND]", "help --man", "help --unit [PROGRAM]"],
    description: ["Shows what the program does, or everything about one command."],
    options: [
      OptionSpec(.man, help: "Prints the manual page, as mdoc(7)."),
      OptionSpec(
        .unit, help: "Prints a systemd user unit that goes on with all queues after a reboot.",
        details:
          "PROGRAM is the full path that it calls serialq by; else it is that of this program."),
    ],
    operands: .commandName,
    examples: [
      Example("serialq help add", "everything about add"),
      Example("serialq help --man | man -l -", "everything"),
    ]
  )
}

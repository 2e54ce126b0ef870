import SerialqQueue
import SerialqSystem

extension Manual {
  /// Can be run in order; the tests do that, if the programs are installed.
  static let examples: [Example] = [
    Example("serialq add 'make && make test'", "Queue a build and walk away:"),
    Example(
      #"serialq add -- rsync -a "My Files" backup:/srv"#,
      "Queue a program, with an argument that contains a space:"),
    Example(
      "serialq add --if-ok -n upload ./upload", "Run a job only if the one before it succeeded:"),
    Example("serialq wait && echo done", "Wait until all jobs are done:"),
    Example("serialq log 1 | tail -n 3", "Show the end of the first job's output:"),
    Example(
      "printf '%s\\n' 'echo one' 'echo two' | serialq run -q small -f -",
      "Run some commands in the foreground, in a separate queue:"),
    Example(
      "serialq add -q flaky --retries 3 --retry-delay 1 --timeout 10m ./fetch",
      "Try up to four times, one second apart, for at most ten minutes each:"),
    Example("serialq wait -q flaky 1", "Exit with that job's exit code:"),
    Example("serialq add false; serialq wait || serialq", "Show what failed:"),
    Example(
      "serialq list --failed --json | jq '.jobs[].id'",
      "List failed jobs in a script:"),
    Example("serialq retry --failed --first", "Retry all failed jobs, before all others:"),
    Example("serialq wait; serialq ack --all", "Acknowledge the failures:"),
    Example("serialq pause && serialq add 'echo later'", "Stop starting jobs for now:"),
    Example("serialq add echo sooner && serialq move 6 --first", "Change the order:"),
    Example("serialq resume && serialq wait 5-6", "Resume, and wait for these two:"),
    Example(
      "serialq set on-finish 'echo $SERIALQ_JOB $SERIALQ_STATE >>ends.txt'",
      "Record how each job ends:"),
    Example(
      #"serialq set on-idle 'notify-send "$SERIALQ_FAILED failed" "queue $SERIALQ_QUEUE is done"'"#,
      "Show on the desktop when all jobs are done:"),
    Example(
      "printf '3\\n1\\n2\\n' | serialq add -q sorted -i - sort && serialq wait -q sorted",
      "Pass data to a job:"),
    Example("serialq set -q sorted log-limit 10M", "Keep logs short:"),
    Example("serialq set on-failure stop", "Pause the queue after a failure:"),
    Example("serialq report", "Show when each job ran:"),
    Example(
      "serialq report --html queue.html",
      "Write the same as an HTML page, with failures and their output:"),
    Example("serialq clean --older-than 7d", "Remove jobs that ended more than a week ago:"),
    Example(
      "mkdir -p ~/.config/systemd/user && cd ~/.config/systemd/user",
      "Install the unit that starts the runners after a reboot, without make install:"),
    Example("serialq help --unit >~/.config/systemd/user/\(SystemdUnit.name)", ""),
  ]

  static var examplesSection: String {
    let parts = examples.enumerated().map { index, example in
      let meaning =
        example.meaning.isEmpty ? "" : "\(index == 0 ? "" : ".Pp\n")\(Mdoc.text(example.meaning))\n"
      return """
        \(meaning).Bd -literal -offset indent -compact
        \(Mdoc.literal("$ \(example.line)"))
        .Ed

        """
    }
    return ".Sh EXAMPLES\n" + parts.joined()
  }
}

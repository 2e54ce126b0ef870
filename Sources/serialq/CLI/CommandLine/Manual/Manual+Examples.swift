import SerialqQueue
import SerialqSystem

extension Manual {
  /// Can be run in order; the tests do that, if the programs are installed.
  static let examples: [Example] = [
    Example("serialq add 'make && make test'", "Queue a build and walk away:"),
    Example(
      #"serialq add -- rsync -a "My Files" backup:/srv"#,
      "Queue a program, with an argument that holds a blank:"),
    Example("serialq add --if-ok -n upload ./upload", "Only if that went well:"),
    Example("serialq wait && echo done", "Wait until all is done:"),
    Example("serialq log 1 | tail -n 3", "See what the first said in the end:"),
    Example(
      "printf '%s\\n' 'echo one' 'echo two' | serialq run -q small -f -",
      "Run some commands here and now, in a queue of their own:"),
    Example(
      "serialq add -q flaky --retries 3 --retry-delay 1 --timeout 10m ./fetch",
      "Try up to four times, one second apart, each for ten minutes at the most:"),
    Example("serialq wait -q flaky 1", "Exit as that job does:"),
    Example("serialq add false; serialq wait || serialq", "Find out what went wrong:"),
    Example(
      "serialq list --json | jq '.jobs[] | select(.exitCode == 1) | .id'",
      "The same, for a script:"),
    Example("serialq retry --failed --first", "Try everything again that failed, first of all:"),
    Example("serialq wait; serialq ack --all", "Take note of the failures:"),
    Example("serialq pause && serialq add 'echo later'", "Let nothing start for now:"),
    Example("serialq add echo sooner && serialq move 6 --first", "Change the order:"),
    Example("serialq resume && serialq wait 5-6", "Go on, and wait for these two:"),
    Example(
      "serialq set on-finish 'echo $SERIALQ_JOB $SERIALQ_STATE >>ends.txt'",
      "Write down how every job ends:"),
    Example("serialq set on-failure stop", "Start nothing after a failure:"),
    Example("serialq report", "See when what ran:"),
    Example("serialq report --html queue.html", "The same as a page, with what failed and why:"),
    Example("serialq clean --older-than 7d", "Forget what was done more than a week ago:"),
    Example(
      "mkdir -p ~/.config/systemd/user && cd ~/.config/systemd/user",
      "Install the unit that goes on after a reboot, without an installation:"),
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

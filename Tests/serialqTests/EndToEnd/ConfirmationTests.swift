import TestSupport
import Testing

/// What commands that change a queue report on a terminal.
@Suite final class ConfirmationTests: SceneSuite {
  // Fails if one of them changes the queue in silence.
  @Test("on a terminal, each command that changes a queue reports it", .needs(.tmux, .bash))
  func confirmations() throws {
    let terminal = try Terminal(scene)
    for (command, report) in [
      ("pause", "the new queue default is now paused"),
      (
        "add true; serialq add 'exit 1'; serialq move 2 --first", "job 2 runs next"
      ),
      ("cancel 1", "cancelled job 1"),
      ("edit 2 --timeout 1m", "job 2 is changed"),
      ("resume", "queue default resumed; 1 waiting"),
      ("wait 2; serialq ack 2", "acknowledged job 2"),
      ("retry 2", "job 2 queued again"),
      ("wait 2; serialq start", "queue default has no work: no runner is needed"),
      ("clean --all", "removed 2 jobs"),
      ("queues --remove default", "queue default removed"),
    ] {
      try terminal.type("serialq \(command)", until: "serialq: \(report)")
    }
  }
}

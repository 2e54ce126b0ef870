import SerialqQueue
@testable import SerialqSystem
@testable import SerialqWatch
import TestSupport
import Testing

@testable import SerialqCLI

@Suite struct StatusReportTests {
  /// A report with every part.
  private let busy: StatusReport = {
    var report = StatusReport(empty: "video", hasOthers: false)
    report.troubles = [3, 4].map { id in
      StatusReport.Trouble(
        id: id, title: "build: make -C project all install documentation",
        outcome: "failed with exit code 2 after 4m 05s", age: .seconds(130),
        tail: ["cc -c a.c", "a.c:12: error", "make: *** [a.o] Error 1"])
    }
    report.running = [
      .init(
        id: 7, title: "翻訳する 日本語ドキュメント.md --verbose --output ./results/日本語", elapsed: .seconds(65),
        expected: .seconds(180), tail: ["one", "two", "three"])
    ]
    report.waiting = .init(count: 14, next: 8, title: "rsync -a \"My Files\" backup:/srv")
    report.hasRunner = true
    report.bar = ProgressBar(over: 5, failed: 2, running: 1, waiting: 14)
    report.left = .seconds(1_190)
    report.counts = ["14 waiting", "1 running", "3 succeeded", "2 failed"]
    return report
  }()

  private func text(_ lines: [StyledLine]) -> String {
    lines.map { $0.rendered(color: false) }.joined(separator: "\n")
  }

  // Fails if failures are not first, or a part of the present state is missing.
  @Test("failures come first, then running jobs, waiting jobs and commands to type")
  func all() {
    #expect(
      text(busy.lines()) == """
        Job 3: build: make -C project all install documentation
          failed with exit code 2 after 4m 05s, 2m ago
          | cc -c a.c
          | a.c:12: error
          | make: *** [a.o] Error 1
        Job 4: build: make -C project all install documentation
          failed with exit code 2 after 4m 05s, 2m ago
          | cc -c a.c
          | a.c:12: error
          | make: *** [a.o] Error 1

        Job 7: 翻訳する 日本語ドキュメント.md --verbose --output ./results/日本語
          running for 1m 05s of about 3m
          | one
          | two
          | three

        14 waiting, next is job 8: rsync -a "My Files" backup:/srv
        5 of 20 done, 2 failed, about 20m left

        See why:       serialq log -q video 4
        Run again:     serialq retry -q video --failed
        Mark as seen:  serialq ack -q video --all
        Watch:         serialq log -q video -f
        End it:        serialq cancel -q video 7
        """)
  }

  // Fails if the question is not shown first, or the command that answers it is not.
  @Test("a question of the running job is shown before its output, and the answer is the advice")
  func question() {
    var report = StatusReport(empty: "video", hasOthers: false)
    report.counts = ["1 running"]
    report.hasRunner = true
    report.bar.running = 1
    report.running = [
      .init(
        id: 7, title: "ssh-add", elapsed: .seconds(5),
        question: "asks for a password: Enter passphrase:", tail: ["one"])
    ]
    #expect(
      text(report.lines()) == """
        Job 7: ssh-add
          running for 5s
          asks for a password: Enter passphrase:
          | one

        0 of 1 done

        Answer it:  serialq attach -q video 7
        Watch:      serialq log -q video -f
        End it:     serialq cancel -q video 7
        """)
    report.running[0].question = nil
    report.running[0].unlogged = "output is missing in its log: No space left on device"
    report.running[0].tail = []
    #expect(
      text(report.lines()) == """
        Job 7: ssh-add
          running for 5s
          output is missing in its log: No space left on device

        0 of 1 done

        Watch:   serialq log -q video -f
        End it:  serialq cancel -q video 7
        """)
  }

  // Fails if a skipped job is shown without its cause, or the advice names a log that it has not.
  @Test("jobs that were skipped are shown with their cause, or alone")
  func skipped() {
    var report = StatusReport(empty: "video", hasOthers: false)
    report.counts = ["1 failed", "3 skipped"]
    report.troubles = [
      .init(id: 1, title: "make", outcome: "failed with exit code 2", skips: [2, 3])
    ]
    #expect(
      text(report.lines()) == """
        Job 1: make
          failed with exit code 2
          jobs 2-3 were skipped because of it

        No job is running or waiting: 1 failed, 3 skipped.

        See why:       serialq log -q video 1
        Run again:     serialq retry -q video --failed
        Mark as seen:  serialq ack -q video --all
        """)
    report.troubles = [
      .init(
        id: 3, title: "make install", outcome: "was skipped because job 2 did not succeed",
        isSkipped: true)
    ]
    #expect(
      text(report.lines()) == """
        Job 3: make install
          was skipped because job 2 did not succeed

        No job is running or waiting: 1 failed, 3 skipped.

        See why:       serialq show -q video 3
        Run again:     serialq retry -q video 3
        Mark as seen:  serialq ack -q video 3
        """)
  }

  // Fails if a line is wider than the terminal, or an omitted part is not the least important.
  @Test("on a small terminal the report is shorter, and every line fits")
  func small() {
    for (columns, rows) in [(80, 60), (80, 24), (40, 24), (40, 12), (20, 10), (20, 2), (1, 1)] {
      let lines = StatusPage(reports: [busy]).lines(
        in: TerminalWindow(columns: columns, rows: rows))
      #expect(lines.count <= max(1, rows - 1) && !lines.isEmpty)
      #expect(lines.allSatisfy { $0.width < max(2, columns) })
    }
    #expect(
      text(StatusPage(reports: [busy]).lines(in: TerminalWindow(columns: 40, rows: 16))) == """
        1 more open: serialq list -q video --o…
        Job 4: build: make -C project all inst…
          failed with exit code 2 after 4m 05s…

        Job 7: 翻訳する 日本語ドキュメント.md …
          running for 1m 05s of about 3m

        14 waiting, next is job 8: rsync -a "M…
        [#!>......] 5 of 20 done, 2 failed, ab…

        See why:       serialq log -q video 4
        Run again:     serialq retry -q video …
        Mark as seen:  serialq ack -q video --…
        Watch:         serialq log -q video -f
        End it:        serialq cancel -q video…
        """)
  }

  // Fails if advice names a useless command: a runner that waits is not a missing runner.
  @Test(
    "an orphan is reported with its process, and how to end it", .shows(Running.orphansAreNamed))
  func orphan() {
    var report = busy
    report.troubles = []
    report.waiting = nil
    report.running[0].tail = []
    let cases: [(StatusReport.Running.Guardian, Bool, [String], [String])] = [
      (
        .waitingRunner, true, ["process 4711", "its runner died; the next"],
        ["serialq cancel"]
      ),
      (.noRunner, false, ["process 4711"], ["serialq cancel", "serialq run", "serialq start"]),
      (.gone, false, ["its runner and the job died"], ["serialq run", "serialq start"]),
      (.runner, true, ["running for"], ["serialq log", "serialq cancel"]),
    ]
    for (guardian, hasRunner, said, advised) in cases {
      report.running[0].guardian = guardian
      report.running[0].process = guardian == .runner ? nil : 4711
      report.hasRunner = hasRunner
      let lines = text(report.lines())
      #expect(said.allSatisfy(lines.contains), "\(lines)")
      let commands = text(report.advice).split(separator: "\n")
      #expect(commands.count == advised.count, "\(commands)")
      for (command, start) in zip(commands, advised) { #expect(command.contains(start)) }
    }
  }

  // Fails if a stopped queue has no reason, or no command that resumes it.
  @Test("a stopped queue is reported with the reason, and how to resume it")
  func pauses() {
    var report = StatusReport(empty: "video", hasOthers: false)
    report.counts = ["1 waiting"]
    report.waiting = .init(count: 1, next: 2, title: "make", delay: .seconds(12))
    report.bar.waiting = 1
    #expect(
      text(report.lines()) == """
        1 waiting, next is job 2 in 12s: make
        No runner is active.
        0 of 1 done

        Run them here:  serialq run -q video
        In background:  serialq start -q video
        """)
    report.pause = .init(age: .seconds(7_380), because: nil)
    #expect(
      text(report.lines()) == """
        Paused, 2h 03m ago: no job is started.
        1 waiting, next is job 2 in 12s: make
        0 of 1 done

        Resume:  serialq resume -q video
        """)
    report.pause = .init(age: nil, because: 1)
    #expect(text(report.lines()).hasPrefix("Stopped by the failure of job 1: no job is started.\n"))
    report.troubles = [.init(id: 1, title: "make", outcome: "failed", age: nil)]
    #expect(text(report.lines()).contains("serialq retry -q video 1 --first\n"))
  }

  // Fails if an empty queue shows no first steps, or an idle one no counts.
  @Test("an empty queue shows first steps, and an idle one its counts")
  func idle() {
    #expect(
      text(StatusReport(empty: "video", hasOthers: true).lines()) == """
        Queue video is empty.
        Add a job:     serialq add -q video 'make test'
        Other queues:  serialq queues
        All commands:  serialq help
        """)
    var report = StatusReport(empty: "default", hasOthers: false)
    report.counts = ["3 succeeded", "1 cancelled"]
    #expect(text(report.lines()) == "No job is running or waiting: 3 succeeded, 1 cancelled.")
    let at = Timestamp(microseconds: 1_800_000_000_000_000)
    report.finish = .init(at: at, age: .seconds(59))
    #expect(text(report.lines()).hasSuffix("cancelled.\nFinished just now."))
    report.finish = .init(at: at, age: .seconds(7_400), took: .seconds(65))
    #expect(
      text(report.lines()).hasSuffix(
        "\nFinished 2h 03m ago (\(Humanize.moment(at))), after 1m 05s."))
    #expect(report.interval == .seconds(60))
  }

  // Fails if a live display is not updated when the text of a time changes.
  @Test("the report returns how often the text of a time in it changes")
  func times() {
    var report = busy
    #expect(report.interval == .seconds(1))
    report.running = []
    #expect(report.interval == .seconds(60))
    report.waiting?.delay = .milliseconds(12_250)
    #expect(report.interval == .seconds(1))
    report.waiting = nil
    report.troubles = []
    #expect(report.interval == nil)
  }
}

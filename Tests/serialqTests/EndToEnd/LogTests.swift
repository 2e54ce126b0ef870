import SerialqRunner
import SerialqSystem
import TestSupport
import Testing

/// Reading the output of jobs, during a run and afterwards.
@Suite struct LogTests {
  // Fails if the follower does not wait for the start, prints another job's output, or does not
  // end.
  @Test("following a waiting job begins with its start, and ends with its end")
  func followWaiting() throws {
    let scene = try Scene()
    let gate = try Gate(scene)
    try scene.add(
      "echo first; read x <gate", "echo second; read x <gate; echo over; exit 4", "true")
    let waiting = try scene.start("log", "-f", "2")
    try waiting.waitForErrors("has no active runner; start one with: serialq run")
    let run = try scene.start("run")
    try run.waitForOutput("first")
    try gate.open()
    try waiting.waitForOutput("second")
    let late = try scene.start("log", "-f", "2")
    try late.waitForOutput("second")
    #expect(late.errors.text == "")
    try gate.open()
    for follower in [waiting, late] {
      let outcome = try follower.wait()
      #expect(outcome.text == "second\nover\n")
      #expect(outcome.code == 0)
    }
    #expect(try run.wait().code == 1)
    #expect(try scene.serialq("log", "-f", "2").text == "second\nover\n")
  }

  // Fails if a job is missed that ended after `log -f` read its state, because no further event
  // arrives: `log -f` printed nothing, and reported success.
  @Test("following a job that has just ended prints all of its output, once")
  func followEnded() throws {
    let scene = try Scene()
    #expect(try scene.serialq("run", "echo all").code == 0)
    var follower = try Follower(scene.queueFolder(), .job(1), Follower.OutputStyle())
    let file = try FileDescriptor.open(scene.path("printed"), .log)
    var output = Output(results: file.raw)
    for _ in 0..<2 { try follower.advance(&output) }
    #expect(try follower.isAtEnd && content(scene.path("printed")).text == "all\n")
  }

  // Fails if jobs that are forgotten between two reads are neither reported nor counted, or the end
  // of an open log is lost.
  @Test("a slow follower reports the jobs whose output was deleted")
  func followForgotten() throws {
    let scene = try Scene()
    let gate = try Gate(scene)
    #expect(try scene.serialq("set", "keep", "1").code == 0)
    try scene.add("echo 1; read x <gate; echo end", "echo 2", "echo 3", "echo 4")
    var follower = try Follower(scene.queueFolder(), .queue, Follower.OutputStyle())
    let (printed, messages) = (scene.path("printed"), scene.path("messages"))
    let files = try [printed, messages].map { try FileDescriptor.open($0, .log) }
    var output = Output(results: files[0].raw, messages: files[1].raw)
    let run = try scene.start("run")
    try scene.waitForLog(1, "1")
    try follower.advance(&output)
    try gate.open()
    #expect(try run.wait().code == 0)
    try follower.advance(&output)
    #expect(try content(printed).text == "1\nend\n4\n")
    #expect(
      try content(messages).text == """
        serialq: jobs 2-3: removed before the output could be printed
        To keep more jobs: serialq set keep N

        """)
    #expect(follower.succeeded == 4 && follower.isAtEnd)
    withExtendedLifetime(files) {}
  }

  // Fails if the follower stops between two jobs, or at the end of the first.
  @Test("following the queue continues from job to job")
  func followQueue() throws {
    let scene = try Scene()
    let gate = try Gate(scene)
    try scene.add("echo 1; read x <gate", "echo 2 >&2", "echo 3")
    let run = try scene.start("run")
    try run.waitForOutput("1")
    let follower = try scene.start("log", "-f")
    try follower.waitForOutput("1")
    try gate.open()
    #expect(try follower.wait().text == "1\n2\n3\n")
    #expect(try run.wait().text == "1\n2\n3\n")
  }

  // Fails if a missing folder cannot be watched: another process is creating it.
  @Test("following a queue that is just being created is not an error")
  func followUnmade() throws {
    let scene = try Scene()
    let folder = try scene.queueFolder()
    for path in [scene.spool, folder.path] { #expect(try FileSystem.makeFolder(path)) }
    for words in [["log", "-f"], ["list"], ["status"]] {
      let outcome = try scene.serialq(words.map { Bytes($0.utf8) })
      #expect(outcome.code == 0 && outcome.errors.isEmpty, "\(outcome.errorText)")
    }
  }

  // Fails if output is cut to a buffer size, or printed twice between two reads.
  @Test("output larger than any pipe is complete, with every command that prints it")
  func large() throws {
    let scene = try Scene()
    let words = "0123456789012345678901234567890123456789"
    let count = 20_000 / ease
    let line = "i=0; while [ $i -lt \(count) ]; do echo \"$i \(words)\"; i=$((i + 1)); done"
    try scene.add(line)
    let run = try scene.start("run")
    let follower = try scene.start("log", "-f", "1")
    let expected = Bytes(
      (0..<count).map { "\($0) \(words)\n" }.joined().utf8)
    #expect(expected.count > 900_000 / ease)
    #expect(try run.wait().output == expected)
    #expect(try follower.wait().output == expected)
    #expect(try scene.serialq("log", "1").output == expected)
    let piped = try scene.script("serialq log 1 | cksum; serialq log 1 | cat | tail -n 1")
    #expect(piped.text.hasSuffix("\(count - 1) \(words)\n"))
  }

  // Fails if the log is printed for as long as it grows: such a job reads its own output, here
  // until it reaches a size limit.
  @Test("a job that prints its own log prints the present content, and ends")
  func own() throws {
    let scene = try Scene()
    let run = try scene.serialq("run", "\(Scene.smallFiles) echo so far; exec serialq log")
    #expect(run.code == 0 && run.text == "so far\nso far\n", "\(run.errorText)")
  }

  // Fails if bytes are converted to text.
  @Test("a log of any bytes is printed unchanged")
  func binary() throws {
    let scene = try Scene()
    try write((0...255).map { $0 }, to: scene.path("bytes"))
    try scene.add("cat bytes")
    #expect(try scene.serialq("run").output == (0...255).map { $0 })
    #expect(try scene.serialq("log", "1").output == (0...255).map { $0 })
  }

  // Fails if SIGPIPE kills it, or EPIPE is reported as an error.
  @Test("a closed reader ends the command silently")
  func readerGone() throws {
    let scene = try Scene()
    // More than a pipe holds.
    try scene.add("yes | head -c \(1_000_000 / ease)")
    #expect(try scene.serialq("run").code == 0)
    for command in ["log 1", "log -f 1"] {
      let script = "{ serialq \(command); echo $? >code; } | head -n 1"
      let outcome = try scene.script(script)
      #expect(outcome.text == "y\n" && outcome.errorText == "")
      #expect(try content(scene.path("code")).text == "0\n")
    }
  }

  // Fails if it continues to read for as long as the job prints, although its output is closed.
  @Test("following a job that never stops printing ends when its reader is closed")
  func endlessReaderGone() throws {
    let scene = try Scene()
    try scene.add("while :; do echo line; done")
    let run = try scene.start("run")
    // The run's output is not read here: it could grow faster than it is read.
    _ = try scene.waitForProcess(of: 1)
    let outcome = try scene.script("serialq log -f 1 | head -n 1")
    #expect(outcome.text == "line\n" && outcome.errorText == "")
    run.send(SIGTERM)
    #expect(try run.wait().code == 128 + SIGTERM)
  }

  // Fails if the run stops with its reader: `| head` would stop the queue.
  @Test("a run whose reader is closed still runs every job")
  func runWithoutReader() throws {
    let scene = try Scene()
    try scene.add("yes | head -c 200000", "exit 2", "echo end >>rec")
    let script = "{ serialq run; echo $? >code; } | head -n 1"
    #expect(try scene.script(script).text == "y\n")
    #expect(try content(scene.path("code")).text == "1\n")
    #expect(try scene.states() == [.succeeded, .failed, .succeeded])
  }

  #if os(Linux)
    // Fails if the run ends with its output: the job continues without a runner, and waiting jobs
    // stay.
    @Test("a run that cannot write its output runs every job, and then reports the error")
    func runIntoFullDisk() throws {
      let scene = try Scene()
      let gate = try Gate(scene)
      try scene.add("echo a; read x <gate", "echo b; exit 2", "echo c >>rec")
      let run = try scene.start("run") { $0.prelude = "exec >/dev/full" }
      try scene.waitForLog(1, "a")
      try gate.open()
      let outcome = try run.wait()
      #expect(outcome.code == 125)
      #expect(try scene.states() == [.succeeded, .failed, .succeeded])
      let lines = outcome.errorText.split(separator: "\n")
      #expect(lines.first?.hasPrefix("serialq: job 2 failed with exit code 2") == true)
      let last = "serialq: cannot write to standard output: No space left on device"
      #expect(lines.dropLast().last.map(String.init) == last, "\(outcome.errorText)")
    }
  #endif

  // Fails if a job without output is not distinguished from one that has not run.
  @Test("a job that has not run has no log, and the message names the next command")
  func notRun() throws {
    let scene = try Scene()
    try scene.add("true")
    let outcome = try scene.serialq("log", "1")
    #expect(outcome.code == 125 && outcome.output.isEmpty)
    #expect(
      outcome.errorText
        == "serialq: the log of job 1: it has not run yet\nWait for it: serialq log -f 1\n")
  }
  // Fails if the order of ids decides, and not the order of execution.
  @Test("log without an id prints the output of the job that ran last")
  func lastRun() throws {
    let scene = try Scene()
    try scene.add("echo one", "echo two")
    #expect(try scene.serialq("move", "2", "--first").code == 0)
    #expect(try scene.serialq("run").code == 0)
    _ = try scene.serialq("add", "--no-start", "echo three")
    #expect(try scene.serialq("log").text == "one\n")
  }
}

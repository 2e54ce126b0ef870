import Foundation
@testable import SerialqCLI
import SerialqQueue
import SerialqRunner
import SerialqSystem
import TestSupport
import Testing

/// `serialq --host` while connections are lost and signals arrive.
@Suite(.beside, .needs(.ssh, .sshd, .sshKeygen)) struct HostConnectionTests {
  private static let lost = "serialq: host box: the connection was lost; connecting again\n"

  // Fails if an add whose connection was cut is given up or queued twice: see `AddKeys`.
  @Test(
    "the jobs of every add are there once, whenever its connection is cut",
    .shows(Elsewhere.addedOnce), arguments: [1, 2] as [UInt64])
  func adds(seed: UInt64) throws {
    let (scene, box) = try Scene.withBox()
    var generator = SeededGenerator(seed: seed)
    let count = isLong ? 200 : 12
    for number in 1...count {
      let call = try scene.startHost("add", "--no-start", "-n", "j\(number)", "true")
      // A moment between the start of ssh and the end of the call.
      usleep(.random(in: 0...300_000, using: &generator))
      switch Int.random(in: 0..<3, using: &generator) {
      case 0: try box.cut()
      // The caller has to begin again.
      case 1: try box.killServers()
      default: try call.killSSH()
      }
      let outcome = try call.wait()
      #expect(outcome.code == 0, "\(number): \(outcome.errorText)")
      #expect(outcome.text == "\(number)\n", "\(outcome.errorText)")
    }
    let labels = try scene.queue().jobs.compactMap { $0.label?.text }
    #expect(labels == (1...count).map { "j\($0)" })
  }

  // Fails if a call that begins again prints what it has printed: `id=$(serialq add …)` has two lines.
  @Test("an add whose process there is killed prints each id once", .shows(Elsewhere.addedOnce))
  func idsOnce() throws {
    let (scene, box) = try Scene.withBox()
    let greeting = HostMessage.greeting(HostGreeting(answer: .begun)).encoded
    let output = HostMessage.output(Bytes("1-2\n".utf8)).encoded
    let passed = HostMessage.opening.count + greeting.count + output.count
    // Passes on the ids, and kills the process that then still has to report its end.
    let program = box.home.appending(path: Bytes("once"))
    try writeProgram(
      Bytes(
        """
        #!/bin/sh
        [ ! -e '\(box.home.text)/pid' ] || exec serialq "$@"
        exec 3<&0
        (echo "$(exec sh -c 'echo $PPID')" >'\(box.home.text)/pid'; exec serialq "$@" <&3) |
          { dd bs=1 count=\(passed) 2>/dev/null; kill -9 "$(cat '\(box.home.text)/pid')"; }

        """.utf8), to: program)
    let add = try scene.start(
      "--host", "box:\(program.text)", "add", "--no-start", "-f", "-"
    ) { $0.input = Bytes("true\ntrue\n".utf8) }
    let outcome = try add.wait()
    #expect(outcome.code == 0 && outcome.text == "1-2\n", "\(outcome.errorText)")
    #expect(try scene.queue().jobs.count == 2)
  }

  // Fails if a lost connection ends the command, or it begins with a new time limit or exit code, or
  // if the caller gives up while the machine cannot be reached.
  @Test("wait continues after its connection is cut", .shows(Elsewhere.resumed))
  func wait() throws {
    let (scene, box) = try Scene.withBox()
    let gate = try Gate(scene)
    try scene.add("read x <'\(scene.work.text)/gate'; exit 9")
    let wait = try scene.startCall("wait", "--timeout", "1h", "1")
    for _ in 0..<3 {
      try box.cut()
      try wait.waitForErrors(Self.lost)
    }
    try box.refuse()
    try box.cut()
    try gate.open()
    try scene.waitForJob(1, .failed)
    try box.accept()
    let outcome = try wait.wait()
    #expect(outcome.code == 9 && outcome.errorText.hasPrefix(Self.lost), "\(outcome.errorText)")
    try scene.waitForNoCall()
  }

  // Fails if the process there is the only one that knows what is waited for.
  @Test("wait begins again if the process that carried it out was killed")
  func waitAgain() throws {
    let (scene, box) = try Scene.withBox()
    let gate = try Gate(scene)
    try scene.add("read x <'\(scene.work.text)/gate'; exit 9")
    let wait = try scene.startCall("wait", "1")
    try box.killServers()
    try wait.waitForErrors(Self.lost)
    try gate.open()
    #expect(try wait.wait().code == 9)
  }

  // Fails if output is printed again, or is missing, after a connection.
  @Test("log -f prints every byte once, however often it is cut", .shows(Elsewhere.resumed))
  func follow() throws {
    let (scene, box) = try Scene.withBox()
    let gate = try Gate(scene)
    let lines = 200
    try scene.add(
      """
      i=0; while [ $i -lt 4 ]; do i=$((i + 1)); seq \(lines); echo "part $i";
      read x <'\(scene.work.text)/gate'; done
      """.replacing("\n", with: " "))
    #expect(try scene.call("start").code == 0)
    try scene.waitForLog(1, "part 1")
    let log = try scene.startHost("log", "-f", "-n", "all", "1")
    for part in 1...4 {
      try log.waitForOutput("part \(part)")
      if part.isMultiple(of: 2) { try log.killSSH() } else { try box.cut() }
      try gate.open()
    }
    let outcome = try log.wait()
    #expect(outcome.code == 0)
    #expect(try outcome.output == scene.log(1))
  }

  // Fails if the caller claims that nothing was done, or does it again.
  @Test("a change whose process there was killed may have been made, and the message says so")
  func unknown() throws {
    let (scene, box) = try Scene.withBox(variables: ["VISUAL=./editor"])
    let gate = try Gate(scene)
    try scene.add("true")
    let editor = "#!/bin/sh\necho up >'\(scene.work.text)/up'; read x <'\(scene.work.text)/gate'\n"
    try writeProgram(Bytes(editor.utf8), to: box.home.appending(path: Bytes("editor")))
    let edit = try scene.startHost("edit", "1")
    try scene.waitForFile("up", "up")
    try box.killServers()
    let outcome = try edit.wait()
    #expect(outcome.code == 125)
    #expect(outcome.errorText.contains("The command may have been carried out"))
    #expect(outcome.errorText.contains("serialq --host box status"), "\(outcome.errorText)")
    try gate.open()
  }

  // Fails if a signal ends only this side: the command there must end, and as here.
  @Test("a signal has the effect that it has here", arguments: [SIGINT, SIGTERM, SIGHUP])
  func signals(signal: Int32) throws {
    let (scene, box) = try Scene.withBox()
    let here = try Scene()
    let gates = [try Gate(scene), try Gate(here)]
    defer { withExtendedLifetime((box, gates)) {} }
    var outcomes: [[String]] = [[], []]
    for (index, place) in [scene, here].enumerated() {
      let isHere = index == 1
      func note(_ program: LaunchedProgram) throws {
        program.send(signal)
        let outcome = try program.wait()
        let errors = outcome.errorText.replacing(/\d+\.\ds/, with: "TIME")
        outcomes[index] += ["\(outcome.status)", errors]
      }
      try place.add("echo up; read x <'\(place.work.text)/gate'")
      #expect(try place.serialq("start").code == 0)
      let log = isHere ? try place.start("log", "-f", "1") : try place.startHost("log", "-f", "1")
      try log.waitForOutput("up")
      try note(log)
      #expect(
        try place.serialq("add", "--no-start", "-q", "b", "echo up; exec sleep 1000").text == "1\n")
      let run = isHere ? try place.start("run", "-q", "b") : try place.startHost("run", "-q", "b")
      // Its output, and not its process: a signal before the answer has come ends this side alone.
      try run.waitForOutput("up")
      try note(run)
      outcomes[index].append("\(try place.states("b"))")
    }
    #expect(outcomes[0] == outcomes[1])
    try scene.waitForNoCall()
    #expect(try scene.states() == [.running])
  }

  // Fails if the command there waits for a caller that cannot return: the connection has only closed
  // what the command writes, which a connection that is lost does too.
  @Test("the command there ends if the process here is killed, also while it prints")
  func killed() throws {
    let (scene, box) = try Scene.withBox()
    let gate = try Gate(scene)
    let read = "read x <'\(scene.work.text)/gate'"
    try scene.add("echo one; \(read); echo two; \(read)")
    #expect(try scene.call("start").code == 0)
    let wait = try scene.startCall("wait", "1")
    wait.send(SIGKILL)
    _ = try wait.wait()
    try scene.waitForNoCall()
    let log = try scene.startHost("log", "-f", "1")
    try log.waitForOutput("one")
    log.send(SIGKILL)
    _ = try log.wait()
    try gate.open()
    try scene.waitForNoCall()
    try gate.open()
    _ = box
  }

  // Fails as above, also if the connection that is made is a later one of the call.
  @Test("the command there ends if the process here is killed while it connects, or connects again")
  func killedWhileConnecting() throws {
    let (scene, box) = try Scene.withBox()
    let ssh = scene.programs.appending(path: Bytes("ssh"))
    let fast = try content(ssh).text
    for queue in ["first", "again"] {
      let gate = try Gate(scene, queue)
      // Connects when there is a call to send, and nothing reads the answer any more.
      let slow = """
        #!/bin/sh
        cd '\(scene.work.text)'; dd bs=1 count=1 of=up-\(queue) 2>/dev/null; read x <\(queue)
        { cat up-\(queue) -; } |
        """
      #expect(
        try scene.call("add", "--no-start", "-q", queue, "echo up; exec sleep 1000").text == "1\n")
      if queue == "first" { try writeProgram(Bytes((slow + fast.dropFirst(9)).utf8), to: ssh) }
      let run = try scene.startHost("run", "-q", queue)
      if queue == "again" {
        try run.waitForOutput("up")
        try writeProgram(Bytes((slow + fast.dropFirst(9)).utf8), to: ssh)
        try box.cut()
      }
      try scene.waitForFile("up-\(queue)", "\u{2}")
      run.send(SIGKILL)
      _ = try run.wait()
      try gate.open()
      try scene.waitForJob(1, in: queue, .interrupted)
      try scene.waitForNoCall()
      try writeProgram(Bytes(fast.utf8), to: ssh)
    }
  }
}

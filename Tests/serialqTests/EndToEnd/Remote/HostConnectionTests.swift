import Dispatch
import Foundation
import SerialqRunner
import SerialqSystem
import TestSupport
import Testing

@testable import SerialqCLI

/// `serialq --host` while connections are lost and signals arrive.
@Suite(.needs(.ssh, .sshd, .sshKeygen)) struct HostConnectionTests {
  private static let lost = "serialq: host box: the connection was lost; connecting again\n"

  // Fails if an add whose connection was cut is given up or queued twice: see `AddKeys`.
  @Test(
    "the jobs of every add are there once, whenever its connection is cut",
    .shows(Elsewhere.addedOnce))
  func adds() throws {
    let (scene, box) = try Scene.withBox()
    var generator = SeededGenerator(seed: 18)
    let count = isLong ? 200 : 12
    for number in 1...count {
      let call = try scene.start("--host", "box", "add", "--no-start", "-n", "j\(number)", "true")
      // A moment between the start of ssh and the end of the call.
      usleep(.random(in: 0...300_000, using: &generator))
      try box.cut()
      let outcome = try call.wait()
      #expect(outcome.code == 0, "\(number): \(outcome.errorText)")
      #expect(outcome.text == "\(number)\n", "\(outcome.errorText)")
    }
    let labels = try scene.queue().jobs.compactMap { $0.label?.text }
    #expect(labels == (1...count).map { "j\($0)" })
  }

  // Fails if a lost connection ends the command, or it begins with a new time limit or exit code.
  @Test("wait continues after its connection is cut", .shows(Elsewhere.resumed))
  func wait() throws {
    let (scene, box) = try Scene.withBox()
    let gate = try Gate(scene)
    try scene.add("read x <'\(scene.work.text)/gate'; exit 9")
    let wait = try scene.start("--host", "box", "wait", "--timeout", "1h", "1")
    for _ in 0..<3 {
      try scene.waitForCall()
      try box.cut()
      try wait.waitForErrors(Self.lost)
    }
    try gate.open()
    let outcome = try wait.wait()
    #expect(outcome.code == 9 && outcome.errorText.hasPrefix(Self.lost), "\(outcome.errorText)")
  }

  // Fails if the process there is the only one that knows what is waited for.
  @Test("wait begins again if the process that carried it out was killed")
  func waitAgain() throws {
    let (scene, box) = try Scene.withBox()
    let gate = try Gate(scene)
    try scene.add("read x <'\(scene.work.text)/gate'; exit 9")
    let wait = try scene.start("--host", "box", "wait", "1")
    try scene.waitForCall()
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
    let log = try scene.start("--host", "box", "log", "-f", "-n", "all", "1")
    for part in 1...4 {
      try log.waitForOutput("part \(part)")
      try box.cut()
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
    let editor = "#!/bin/sh\n: >'\(scene.work.text)/up'; read x <'\(scene.work.text)/gate'\n"
    try writeProgram(Bytes(editor.utf8), to: box.home.appending(path: Bytes("editor")))
    let edit = try scene.start("--host", "box", "edit", "1")
    try waitUntil("the editor", watching: [scene.work]) {
      try FileSystem.status(of: scene.path("up")) != nil
    }
    try box.killServers()
    let outcome = try edit.wait()
    #expect(outcome.code == 125)
    #expect(outcome.errorText.contains("The command may have been carried out"))
    #expect(outcome.errorText.contains("serialq --host box status"), "\(outcome.errorText)")
    try gate.open()
  }

  // Fails if a signal ends only this side: the command there must end, and as here.
  @Test("a signal has the effect that it has here", arguments: [SIGINT, SIGTERM])
  func signals(signal: Int32) throws {
    let (scene, box) = try Scene.withBox()
    let gate = try Gate(scene)
    try scene.add("read x <'\(scene.work.text)/gate'")
    let wait = try scene.start("--host", "box", "wait", "1")
    try scene.waitForCall()
    _ = try scene.waitForProcess(of: 1)
    wait.send(signal)
    let outcome = try wait.wait()
    #expect(outcome.status == .killed(signal))
    #expect(outcome.errorText == (signal == SIGINT ? "serialq: job 1 continues\n" : ""))
    try scene.waitForNoCall()
    #expect(try scene.call("add", "--no-start", "-q", "other", "exec sleep 1000").text == "1\n")
    let run = try scene.start("--host", "box", "run", "-q", "other")
    _ = try scene.waitForProcess(of: 1, in: "other")
    run.send(signal)
    #expect(try run.wait().code == 128 + signal)
    #expect(try scene.states("other") == [signal == SIGINT ? .cancelled : .interrupted])
    try gate.open()
    _ = box
  }

  // Fails if the command there waits for a caller that cannot return.
  @Test("the command there ends if the process here is killed")
  func killed() throws {
    let (scene, box) = try Scene.withBox()
    let gate = try Gate(scene)
    try scene.add("read x <'\(scene.work.text)/gate'")
    let wait = try scene.start("--host", "box", "wait", "1")
    try scene.waitForCall()
    wait.send(SIGKILL)
    _ = try wait.wait()
    try scene.waitForNoCall()
    try gate.open()
    _ = box
  }
}

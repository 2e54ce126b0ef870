@testable import SerialqQueue
import SerialqSystem
import TestSupport
import Testing

/// The files of a queue, as other users and programs see them.
@Suite final class JournalFileTests: SceneSuite {
  // Fails if a line is not JSON for some bytes, or has no version.
  @Test(
    "every line of a journal is parsed by jq, and has its version", .shows(OnDisk.readable),
    .needs(.jq))
  func lines() throws {
    try scene.add("true", "exit 3", "echo 3", "echo 4")
    let odd = [Bytes("add"), Bytes("--no-start"), Bytes("printf"), [0xFF, 0x0A, 0x22, 0x5C, 0x01]]
    #expect(try scene.serialq(odd).code == 0)
    let commands = """
      serialq set keep 9; serialq set on-finish 'exit 1'; serialq move 4 --first; serialq cancel 3
      EDITOR='echo echo 40 >' serialq edit 4; serialq run; serialq ack 2; serialq retry 2
      serialq pause; serialq resume; serialq wait; serialq clean
      """
    let outcome = try scene.script(commands)
    #expect(outcome.code == 0, "\(outcome.errorText)")
    let versions = try scene.script("jq .v '\(scene.queueFolder().journal.text)'")
    #expect(versions.code == 0, "\(versions.errorText)")
    let lines = try scene.journal().count { $0 == UInt8(ascii: "\n") }
    #expect(lines > 0 && versions.text == String(repeating: "1\n", count: lines))
  }

  // Fails if only `clean` compacts a journal that is mostly history.
  @Test("a run compacts a journal that is mostly history", .shows(OnDisk.compactsByItself))
  func compacts() throws {
    try scene.add("exit 3", "true")
    let journal = Journal(try scene.queueFolder())
    let paused = Queue().paused(at: .test)
    let pauses = (0..<10_000).map { Entry.queue($0 % 2 == 0 ? paused : QueueProperties()) }
    try journal.locked { (scope) throws(Failure) in _ = try scope.append(pauses, flush: false) }
    #expect(try scene.serialq("run").code == 1)
    #expect(try scene.journal().count { $0 == UInt8(ascii: "\n") } < 30)
    #expect(try scene.states() == [.failed, .succeeded])
  }

  // Fails if a job counts as over when its process exits, before its end is recorded.
  @Test("when a job starts, the end of the previous one is recorded", .shows(Running.endIsRecorded))
  func ends() throws {
    let count = 20 / ease
    tally(count)
    for id in 1...count {
      try scene.add("serialq show \(id - 1) --json >>seen; serialq show \(id) >>own; exit \(id)")
    }
    #expect(try scene.serialq("run").code == 1)
    let seen = try content(scene.path("seen")).text.split(separator: "\n")
    #expect(seen.count == count - 1)
    for (index, line) in seen.enumerated() {
      #expect(line.contains("\"state\":\"failed\"") && line.contains("\"exitCode\":\(index + 1),"))
    }
  }

  // Fails if the number in the file is trusted: here it is that of a live process.
  @Test("the number of a live process in runner.lock is not a runner", .shows(Running.kernelLock))
  func number() throws {
    try scene.add("echo ran >>rec")
    try write(Bytes("\(getpid())\n".utf8), to: scene.queueFolder().runnerLock)
    #expect(try scene.serialq("status").text.contains("No runner is active."))
    #expect(try scene.serialq("wait").code == 0)
    #expect(try content(scene.path("rec")).text == "ran\n")
  }
}

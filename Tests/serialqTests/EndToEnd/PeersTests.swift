@testable import SerialqQueue
import SerialqSystem
import TestSupport
import Testing

/// What other queues lose after a crash or damage, and where they reach a limit, tested on this
/// one.
@Suite final class PeersTests: SceneSuite {
  /// Queues jobs one call after another; each records its id.
  private func addRecorders(_ count: Int) throws {
    for _ in 0..<count { #expect(try scene.serialq("add", "echo $SERIALQ_JOB >>rec").code == 0) }
  }

  private func record() throws -> [JobID] {
    let file = try FileDescriptor.openIfThere(scene.path("rec"), .read)
    return try (file?.readAll().text ?? "").split(separator: "\n").compactMap { JobID($0) }
  }

  // tsp: server killed, 15 queued jobs and all history lost, and the next call reports nothing.
  // Fails if any state of the queue is only in a process, or `status` does not check the locks.
  @Test(
    "after every serialq is killed with 15 jobs queued, the next call reports it, and all run once",
    .shows(Running.orphans))
  func serverKilled() throws {
    #expect(try scene.serialq("run", "echo history; exit 3").code == 3)
    #expect(try scene.serialq("add", "echo up; read x <gate").code == 0)
    try addRecorders(15)
    let others = try [scene.start("log", "-f"), scene.start("run"), scene.start("wait")]
    for other in others.prefix(2) { try other.waitForOutput("up") }
    // The runner is killed last, or one of the others would start the next.
    for other in others {
      #expect(try other.end(SIGKILL).code == 128 + SIGKILL)
    }
    try scene.killRunner()

    let reported = try scene.serialq().text
    #expect(
      reported.contains("Job 1: echo history; exit 3\n  failed with exit code 3"), "\(reported)")
    #expect(reported.contains("its runner died; the next job waits for this one to end"))
    #expect(reported.contains("15 waiting, next is job 3"))
    #expect(try scene.serialq("log", "1").text == "history\n")
    #expect(try scene.states() == [.failed, .running] + Array(repeating: .waiting, count: 15))
    try gate.open()
    let waited = try scene.serialq("wait")
    #expect(waited.code == 1 && waited.errorText.contains("job 2 was interrupted"))
    #expect(try record() == Array(3...17))
    #expect(
      try scene.states() == [.failed, .interrupted] + Array(repeating: .succeeded, count: 15))
  }

  // pueue: every add rewrites the whole state.
  // Fails if an add writes anything but its own line.
  @Test(
    "an add appends its line to the journal, and changes nothing before it", .shows(OnDisk.appends)
  )
  func appendsOnly() throws {
    try scene.add("true")
    let file = try FileSystem.status(of: scene.queueFolder().journal)?.identity
    for _ in 0..<20 {
      let before = try scene.journal()
      #expect(try scene.serialq("add", "--no-start", "true").code == 0)
      let after = try scene.journal()
      #expect(after.starts(with: before))
      #expect(after.dropFirst(before.count).firstIndex(of: UInt8(ascii: "\n")) == after.count - 1)
    }
    #expect(try FileSystem.status(of: scene.queueFolder().journal)?.identity == file)
  }

  // pueue: a damaged state file is replaced by a clean one.
  // Fails if damage is not reported, affects more than its line, or the line is deleted.
  @Test(
    "damage to a journal is reported, affects only the damaged line, and that line is kept",
    .shows(OnDisk.damage))
  func damaged() throws {
    try scene.add("echo $SERIALQ_JOB >>rec", "echo lost >>rec", "echo $SERIALQ_JOB >>rec")
    var lines = try scene.journal().split(separator: UInt8(ascii: "\n")).map { Bytes($0) }
    lines[1][30] ^= 1
    let damaged = Bytes(lines.map { $0 + Bytes("\n") }.joined())
    try write(damaged, to: scene.queueFolder().journal)
    for words in [[], ["list"], ["add", "--no-start", "echo $SERIALQ_JOB >>rec"], ["list"]] {
      let outcome = try scene.serialq(words)
      #expect(outcome.code == 0)
      // An add reads only the last line.
      let isReported = outcome.errorText.contains(
        "line 2 is damaged (its checksum is wrong) and was ignored")
      #expect(isReported == (words.first != "add"), "\(words): \(outcome.errorText)")
    }
    #expect(try scene.journal().starts(with: damaged))
    for words in [["clean"], ["wait"], ["run"]] {
      try write(damaged, to: scene.queueFolder().journal)
      let outcome = try scene.serialq(words)
      #expect(outcome.errorText.contains("line 2 is damaged"), "\(words): \(outcome.errorText)")
    }
    #expect(try record() == [1, 3, 1, 3])
    let kept = try scene.queueFolder().damaged
    #expect(try content(kept) == Bytes([lines[1], lines[1], lines[1], []].joined(separator: [10])))
    #expect(try scene.serialq("list").errorText == "")
    // Also if a background runner moved the line to the separate file.
    let reported = try scene.serialq().text
    #expect(reported.contains("The journal was damaged; the unreadable lines are kept.\n"))
    #expect(reported.contains("Damaged lines:  cat -v \(kept.text)\n"), "\(reported)")
    let scripted = try scene.serialq("status", "--json").text
    #expect(scripted.contains("\"damaged\":\"\(kept.text)\""), "\(scripted)")
  }
}

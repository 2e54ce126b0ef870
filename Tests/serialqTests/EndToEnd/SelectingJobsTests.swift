import Foundation
@testable import SerialqQueue
import SerialqSystem
import Testing

/// Ids, ranges, lists and labels wherever a command takes jobs.
@Suite final class SelectingJobsTests: SceneSuite {
  private func fill() throws {
    for (label, line) in [("a", "echo 1"), ("b", "echo 2"), ("a", "echo 3"), ("b", "exit 4")] {
      #expect(try scene.serialq("add", "--no-start", "-n", label, line).code == 0)
    }
  }

  // Fails if several jobs end in another order than they were given in.
  @Test("move takes several jobs, and puts them before or after another")
  func move() throws {
    try fill()
    #expect(try scene.serialq("move", "3-4", "--first").code == 0)
    #expect(try scene.listedIDs() == [3, 4, 1, 2])
    #expect(try scene.serialq("move", "4,3", "--after", "1").code == 0)
    #expect(try scene.listedIDs() == [1, 4, 3, 2])
    #expect(try scene.serialq("move", "2", "--before", "b").code == 0)
    #expect(try scene.listedIDs() == [1, 2, 4, 3])
    #expect(try scene.serialq("move", "a", "1", "--last").code == 0)
    #expect(try scene.listedIDs() == [2, 4, 3, 1])
    let before = try scene.journal()
    expectRefusal(
      try scene.serialq("move", "1-4", "--after", "2"), "job 2: it cannot be put after itself")
    #expect(try scene.journal() == before)
  }

  // Fails if a label selects another job than the latest, or a command does not take it.
  @Test("a label means the latest job that has it, in every command that takes a job")
  func labels() throws {
    try fill()
    #expect(try scene.serialq("show", "a").text.contains("3 of queue default"))
    #expect(try scene.serialq("cancel", "a").code == 0)
    #expect(
      try scene.states().map { "\($0.name)" } == ["waiting", "waiting", "cancelled", "waiting"])
    #expect(try scene.serialq("retry", "a").code == 0)
    _ = try scene.serialq("wait")
    #expect(try scene.serialq("wait", "b").code == 4)
    #expect(try scene.serialq("log", "a").text == "3\n")
    #expect(try scene.serialq("log", "-f", "a", "1-2").text == "3\n1\n2\n")
    #expect(try scene.serialq("ack", "b").code == 0)
    #expect(try scene.serialq("wait").code == 0)
    expectRefusal(try scene.serialq("wait", "c"), "c: not a job id, and no job of queue default")
  }

  // Fails if an operand or a label is ignored.
  @Test("list takes jobs and labels, and show several jobs")
  func lists() throws {
    try fill()
    #expect(try scene.listedIDs("2,4", "1-2") == [1, 2, 4])
    #expect(try scene.listedIDs("a") == [3])
    #expect(try scene.listedIDs("--name", "a") == [1, 3])
    #expect(try scene.listedIDs("-n", "a", "-n", "b", "1-3") == [1, 2, 3])
    #expect(try scene.listedIDs("--name", "c") == [])
    let shown = try scene.serialq("show", "--json", "2", "1").text.split(separator: "\n")
    #expect(shown.count == 2 && shown.first?.contains("\"id\":2,") == true)
  }

  // Fails if a job is removed beside one that is not over, or an open one stays.
  @Test("clean removes the given jobs, also open ones, and none if one of them is not over")
  func clean() throws {
    try fill()
    #expect(try scene.serialq("run").code == 1)
    try scene.add("true")
    #expect(try scene.listedIDs("--state", "failed,waiting") == [4, 5])
    expectRefusal(try scene.serialq("clean", "1-5"), "job 5: it has not finished: it waits")
    #expect(try scene.listedIDs() == [1, 2, 3, 4, 5])
    let cleaned = try scene.serialq("clean", "4,1", "a")
    #expect(cleaned.code == 0 && cleaned.errors.isEmpty)
    #expect(try scene.listedIDs() == [2, 5])
    #expect(try FileSystem.names(in: scene.queueFolder().logs) == [Bytes("2")])
  }

  // Fails if a script continues as if something was done: return `.success` for no job.
  @Test("a command for all jobs of a state refuses if there is none, and says what waits")
  func nothing() throws {
    try scene.add("true")
    for words in [["cancel", "--running"], ["retry", "--failed"], ["ack", "--all"]] {
      let state = words[0] == "cancel" ? "running" : "open"
      expectRefusal(
        try scene.serialq(words), "queue default: no job is \(state); 1 waits")
    }
    expectRefusal(
      try scene.serialq("retry", "--all"), "queue default: no job is without success; 1 waits")
    #expect(try scene.serialq("run").code == 0)
    expectRefusal(
      try scene.serialq("cancel", "--all"), "queue default: no job is waiting or running")
  }

  // Fails if a cancelled job stays, or one that succeeded runs again.
  @Test("retry --all queues again what cancel --all cancelled, and all else that did not succeed")
  func retryAll() throws {
    try scene.add("true", "exit 3")
    #expect(try scene.serialq("run").code == 1)
    #expect(try scene.serialq("ack", "2").code == 0)
    try scene.add("true", "true")
    #expect(try scene.serialq("pause").code == 0)
    #expect(try scene.serialq("cancel", "--all").code == 0)
    #expect(try scene.states() == [.succeeded, .failed, .cancelled, .cancelled])
    #expect(try scene.serialq("retry", "--all").code == 0)
    #expect(try scene.states() == [.succeeded, .waiting, .waiting, .waiting])
  }

  // Fails if an id that was given is called unknown, or one that was not is called removed.
  @Test("a job that was removed is said to be, with the setting that removes jobs")
  func removed() throws {
    try scene.add("true", "true", "true", "true")
    #expect(try scene.serialq("run").code == 0)
    #expect(try scene.serialq("set", "keep", "1").code == 0)
    for words in [["wait", "2"], ["show", "2"], ["log", "2"]] {
      expectRefusal(try scene.serialq(words), "job 2: it was removed (keep 1 or clean)")
    }
    expectRefusal(
      try scene.serialq("add", "--after", "2", "true"),
      "--after job 2: it was removed (keep 1 or clean)")
    expectRefusal(
      try scene.serialq("retry", "1-3"), "jobs 1-3: they were removed (keep 1 or clean)")
    #expect(try scene.serialq("set", "keep", "all").code == 0)
    #expect(try scene.serialq("clean").code == 0)
    expectRefusal(try scene.serialq("show", "4"), "job 4: it was removed (clean)")
    expectRefusal(try scene.serialq("show", "5"), "job 5: queue default has no such job")
  }
}

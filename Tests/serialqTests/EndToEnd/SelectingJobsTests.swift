import Foundation
import SerialqSystem
import Testing

/// Ids, ranges, lists and labels wherever a command takes jobs.
@Suite struct SelectingJobsTests {
  private func scene() throws -> Scene {
    let scene = try Scene()
    for (label, line) in [("a", "echo 1"), ("b", "echo 2"), ("a", "echo 3"), ("b", "exit 4")] {
      #expect(try scene.serialq("add", "--no-start", "-n", label, line).code == 0)
    }
    return scene
  }

  private func order(_ scene: Scene) throws -> [Int] {
    try scene.listed().compactMap { $0["id"] as? Int }
  }

  // Fails if several jobs end in another order than they were given in.
  @Test("move takes several jobs, and puts them before or after another")
  func move() throws {
    let scene = try scene()
    #expect(try scene.serialq("move", "3-4", "--first").code == 0)
    #expect(try order(scene) == [3, 4, 1, 2])
    #expect(try scene.serialq("move", "4,3", "--after", "1").code == 0)
    #expect(try order(scene) == [1, 4, 3, 2])
    #expect(try scene.serialq("move", "2", "--before", "b").code == 0)
    #expect(try order(scene) == [1, 2, 4, 3])
    #expect(try scene.serialq("move", "a", "1", "--last").code == 0)
    #expect(try order(scene) == [2, 4, 3, 1])
    let before = try scene.journal()
    expectRefusal(
      try scene.serialq("move", "1-4", "--after", "2"), "job 2: it cannot be put after itself")
    #expect(try scene.journal() == before)
  }

  // Fails if a label selects another job than the latest, or a command does not take it.
  @Test("a label means the latest job that has it, in every command that takes a job")
  func labels() throws {
    let scene = try scene()
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
    let scene = try scene()
    func ids(_ words: String...) throws -> [Int] {
      let outcome = try scene.serialq((["list", "--json"] + words).map { Bytes($0.utf8) })
      let object = try JSONSerialization.jsonObject(with: Data(outcome.output)) as? [String: Any]
      return (object?["jobs"] as? [[String: Any]] ?? []).compactMap { $0["id"] as? Int }
    }
    #expect(try ids("2,4", "1-2") == [1, 2, 4])
    #expect(try ids("a") == [3])
    #expect(try ids("--name", "a") == [1, 3])
    #expect(try ids("-n", "a", "-n", "b", "1-3") == [1, 2, 3])
    #expect(try ids("--name", "c") == [])
    let shown = try scene.serialq("show", "--json", "2", "1").text.split(separator: "\n")
    #expect(shown.count == 2 && shown.first?.contains("\"id\":2,") == true)
  }

  // Fails if the exit code of the only job that is left of a range is returned.
  @Test("wait returns a job's own code only if one job is named")
  func waitForOne() throws {
    let scene = try scene()
    _ = try scene.serialq("run")
    #expect(try scene.serialq("wait", "4-4").code == 4)
    #expect(try scene.serialq("wait", "4-9").code == 1)
    #expect(try scene.serialq("wait", "1-3").code == 0)
  }
}

import Foundation
@testable import SerialqCLI
import SerialqQueue
import SerialqSystem
import TestSupport
import Testing

/// The examples in the manual.
@Suite struct ManualExamplesTests {
  /// The programs that the examples run, besides those of every system.
  private static let programs = ["make", "rsync"]

  // Fails if an example is wrong: if it does not do what the manual describes, a later one fails.
  @Test("the manual's examples work, one after another", .needs(.jq))
  func examples() throws {
    let scene = try Scene()
    let program = Bytes("#!/bin/sh\nprintf '%s|' \"$0\" \"$@\"\n")
    for name in ["upload", "fetch"] + Self.programs.map({ "../bin/\($0)" }) {
      try writeProgram(program, to: scene.path(name))
    }
    for example in Manual.examples {
      let outcome = try scene.script(example.line)
      #expect(outcome.code == 0, "\(example.line): \(outcome.text) \(outcome.errorText)")
      switch example.line {
      case let line where line.hasPrefix("serialq list --json"): #expect(outcome.text == "4\n")
      case let line where line.hasPrefix("serialq wait && "): #expect(outcome.text == "done\n")
      case let line where line.hasSuffix("|| serialq"): #expect(outcome.text.contains("Job 4: "))
      case "serialq report": #expect(outcome.text.contains("6 #"))
      case let line where line.contains("--html"):
        #expect(try content(scene.path("queue.html")).text.contains("<td class=\"id\">6</td>"))
      case let line where line.contains("run -q small"): #expect(outcome.text == "one\ntwo\n")
      default: break
      }
    }
    #expect(try scene.queue().jobs.map(\.id) == [1, 2, 3, 4, 5, 6])
    #expect(try scene.queue().openFailureCount == 0)
    // In the order after the move: 6 before 5.
    let ended = try scene.queue().jobs.suffix(2).compactMap(\.run?.ended)
    #expect(ended.count == 2 && ended[1] < ended[0])
    let unit = scene.path(".config/systemd/user/\(SystemdUnit.name)")
    #expect(try content(unit).text.contains("/serialq resume --all\n"))
  }

  // Fails if the line for the crontab, or that of the unit, is not a command that resumes all
  // queues.
  @Test(
    "the lines for crontab and systemd start the waiting jobs of every queue",
    .shows(Running.bootEntries)
  )
  func reboot() throws {
    let scene = try Scene()
    try scene.add("echo up >here")
    let lines = Manual.text.split(separator: "\n").map { $0.replacing("\\-", with: "-") }
    let cron = try #require(lines.first { $0.hasPrefix(".Dl @reboot ") }).dropFirst(12)
    let unit = try #require(lines.first { $0.hasPrefix("ExecStart=") }).dropFirst(10)
    #expect(cron == unit)
    let line = unit.replacing("/usr/bin/serialq", with: "serialq")
    #expect(try scene.script(String(line)).code == 0)
    #expect(try scene.serialq("wait").code == 0)
    #expect(try content(scene.path("here")).text == "up\n")
  }

  // Fails if an undocumented member is printed.
  @Test("every member of the JSON is in the manual")
  func members() throws {
    let scene = try Scene()
    try scene.add("true")
    for call in [["list"], ["show", "1"], ["status"], ["queues"], ["add", "--no-start", "x"]] {
      let words = call.prefix(1) + ["--json"] + call.dropFirst()
      let outcome = try scene.serialq(words.map { Bytes($0.utf8) })
      for key in try keys(of: JSONSerialization.jsonObject(with: Data(outcome.output))) {
        #expect(Manual.text.contains("Va \(key)"), "\(key) of \(call)")
      }
    }
  }

  // Fails if an undocumented variable is set, or a documented one is not.
  @Test("the on-finish command receives the variables in the manual")
  func hook() throws {
    let scene = try Scene()
    #expect(try scene.script("serialq set on-finish 'env >>seen'").code == 0)
    #expect(try scene.serialq("run", "--retries", "1", "exit 3").code == 1)
    let seen = try content(scene.path("seen")).text.split(separator: "\n").map(String.init)
    let names = seen.compactMap { $0.split(separator: "=").first }.filter {
      $0.hasPrefix("SERIALQ_") && $0 != "SERIALQ_DIR"
    }
    let section = try #require(Manual.text.split(separator: "\n.Ss The on-finish command").last)
    let list = section.split(separator: "\n").prefix { $0 != ".El" }
    let reported = list.filter { $0.hasPrefix(".It Ev ") }.map { $0.dropFirst(7) }
    #expect(Set(reported) == Set(names))
    // As documented: not between the attempts.
    #expect(seen.filter { $0.hasPrefix("SERIALQ_STATE=") } == ["SERIALQ_STATE=failed"])
    #expect(seen.filter { $0.hasPrefix("SERIALQ_ATTEMPT=") } == ["SERIALQ_ATTEMPT=2"])
  }

  // Fails if the attempt numbers differ from the manual.
  @Test("the attempt is null, 0 or a number, as documented")
  func attempts() throws {
    let scene = try Scene()
    try scene.add("true", "true", "true")
    #expect(try scene.serialq("cancel", "2").code == 0)
    #expect(try scene.listed("--state", "waiting").allSatisfy { $0["attempt"] is NSNull })
    #expect(try scene.serialq("run").code == 0)
    #expect(try scene.listed().map { $0["attempt"] as? Int } == [1, 0, 1])
    #expect(try scene.serialq("retry", "1").code == 0)
    #expect(try scene.serialq("wait").code == 0)
    #expect(try scene.listed().map { $0["attempt"] as? Int } == [2, 0, 1])
  }

  /// Without the members of `counts`, which are the states.
  private func keys(of value: Any) -> [String] {
    if let array = value as? [Any] { return array.flatMap(keys) }
    guard let object = value as? [String: Any] else { return [] }
    return object.flatMap { key, value in [key] + (key == "counts" ? [] : keys(of: value)) }
  }
}

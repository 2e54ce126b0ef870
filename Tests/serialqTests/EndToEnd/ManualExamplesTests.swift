import Foundation
@testable import SerialqCLI
import SerialqQueue
import SerialqSystem
import TestSupport
import Testing

/// The examples in the manual.
@Suite final class ManualExamplesTests: SceneSuite {
  /// The programs that the examples run, besides those of every system.
  private static let programs = ["make", "rsync", "mail", "notify-send", "systemd-run", "at"]

  // Fails if an example is wrong: if it does not do what the manual describes, a later one fails.
  @Test("the manual's examples work, one after another", .needs(.jq))
  func examples() throws {
    let program = Bytes("#!/bin/sh\nprintf '%s|' \"$0\" \"$@\"\n")
    for name in ["upload", "fetch"] + Self.programs.map({ "../bin/\($0)" }) {
      try writeProgram(program, to: scene.path(name))
    }
    for example in try Manual.examples {
      let outcome = try scene.script(example)
      #expect(outcome.code == 0, "\(example): \(outcome.text) \(outcome.errorText)")
      switch example {
      case let line where line.hasPrefix("serialq list --failed"): #expect(outcome.text == "4\n")
      case let line where line.hasPrefix("serialq wait && "): #expect(outcome.text == "done\n")
      case let line where line.hasSuffix("|| serialq"): #expect(outcome.text.contains("Job 4: "))
      case "serialq report": #expect(outcome.text.contains("6 #"))
      case let line where line.contains("--html"):
        #expect(try content(scene.path("queue.html")).text.contains("<td class=\"id\">6</td>"))
      case let line where line.hasSuffix("log -q sorted"): #expect(outcome.text == "1\n2\n3\n")
      case let line where line.contains("run -q small"): #expect(outcome.text == "one\ntwo\n")
      default: break
      }
    }
    #expect(try scene.queue().jobs.map(\.id) == [1, 2, 3, 4, 5, 6])
    #expect(try scene.queue().openCount == 0)
    // In the order after the move: 6 before 5.
    let ended = try scene.queue().jobs.suffix(2).compactMap(\.ended)
    #expect(ended.count == 2 && ended[1] < ended[0])
  }

  // Fails if the line for the crontab, or the unit that the manual enables, does not start the
  // runners of all queues.
  @Test(
    "the lines for crontab and systemd start the waiting jobs of every queue",
    .shows(Running.bootEntries)
  )
  func reboot() throws {
    try scene.add("echo up >here")
    let lines = try Manual.text.split(separator: "\n").map { $0.replacing("\\-", with: "-") }
    let cron = try #require(lines.first { $0.hasPrefix(".Dl @reboot ") }).dropFirst(12)
    let installed = repository.appendingPathComponent("Scripts/serialq.service")
    let unit = try #require(
      try String(contentsOf: installed, encoding: .utf8).split(separator: "\n")
        .first { $0.hasPrefix("ExecStart=") }
    ).dropFirst(10)
    // The unit itself is started in `SystemdTests`.
    #expect(unit.hasSuffix(" \(cron)"))
    let line = cron.replacing("/usr/bin/serialq", with: "serialq")
    #expect(try scene.script(String(line)).code == 0)
    #expect(try scene.serialq("wait").code == 0)
    #expect(try content(scene.path("here")).text == "up\n")
  }

  // Fails if an undocumented member is printed.
  @Test("every member of the JSON is in the manual")
  func members() throws {
    try scene.add("true")
    for call in [["list"], ["show", "1"], ["status"], ["queues"], ["add", "--no-start", "x"]] {
      let words = call.prefix(1) + ["--json"] + call.dropFirst()
      let outcome = try scene.serialq(Array(words))
      for key in try keys(of: JSONSerialization.jsonObject(with: Data(outcome.output))) {
        #expect(try Manual.text.contains("Va \(key)"), "\(key) of \(call)")
      }
    }
  }

  // Fails if a variable is missing, or in the manual only.
  @Test(
    "the commands of the settings receive the variables in the manual",
    arguments: ["on-finish", "on-ask", "on-idle"])
  func variables(setting: String) throws {
    #expect(try scene.serialq("set", setting, "env >>seen; echo >>seen.done").code == 0)
    let job = setting == "on-ask" ? ["-t", "printf 'Continue? '; read x"] : ["exit 3"]
    #expect(try scene.serialq(["add", "--retries", "1"] + job).code == 0)
    try scene.waitForFile("seen.done", "\n")
    _ = try scene.serialq("cancel", "1")
    let seen = try content(scene.path("seen")).text.split(separator: "\n").map(String.init)
    // The on-idle command is given no job.
    #expect(seen.contains("SERIALQ_JOB=") == (setting == "on-idle"))
    let others = ["SERIALQ_DIR"] + (setting == "on-idle" ? ["SERIALQ_JOB"] : [])
    let names = seen.map { String($0.prefix { $0 != "=" }) }.filter {
      $0.hasPrefix("SERIALQ_") && !others.contains($0)
    }
    let title = "\n.Ss The \(setting) command"
    let section = try #require(try Manual.text.components(separatedBy: title).last)
    let list = section.split(separator: "\n").prefix { $0 != ".El" }
    let reported = list.filter { $0.hasPrefix(".It Ev ") }.map { String($0.dropFirst(7)) }
    #expect(Set(reported) == Set(names))
    guard setting == "on-finish" else { return }
    // As documented: not between the attempts.
    #expect(seen.filter { $0.hasPrefix("SERIALQ_STATE=") } == ["SERIALQ_STATE=failed"])
    #expect(seen.filter { $0.hasPrefix("SERIALQ_ATTEMPT=") } == ["SERIALQ_ATTEMPT=2"])
  }

  // Fails if a variable has another name, or an example is not a command line.
  @Test("the manual's examples of notifications work")
  func notifications() throws {
    let program = Bytes("#!/bin/sh\n{ printf '%s|' \"${0##*/}\" \"$@\"; cat; } >>told\n".utf8)
    for name in ["mail", "notify-send"] {
      try writeProgram(program, to: scene.programs.appending(path: Bytes(name.utf8)))
    }
    let section = try #require(try Manual.text.components(separatedBy: "\n.Ss Notifications").last)
    let examples = section.components(separatedBy: ".Bd -literal -offset 2n\n").dropFirst()
      .prefix(2).compactMap { $0.components(separatedBy: "\n.Ed").first }
    #expect(examples.count == 2)
    for example in examples {
      // As man(1) prints it.
      let line = example.replacing("\\-", with: "-")
      #expect(try scene.script("USER=me; export USER; \(line)").code == 0, "\(line)")
    }
    try scene.add("true", "exit 3")
    #expect(try scene.serialq("run").code == 1)
    let told = try content(scene.path("told")).text
    #expect(
      told
        == "notify-send|--|Job 2 failed|exit 3|mail|-s|queue default is done|me|1 of the jobs failed\n",
      "\(told)")
  }

  /// Without the members of `counts`, which are the states.
  private func keys(of value: Any) -> [String] {
    if let array = value as? [Any] { return array.flatMap(keys) }
    guard let object = value as? [String: Any] else { return [] }
    return object.flatMap { key, value in [key] + (key == "counts" ? [] : keys(of: value)) }
  }
}

import Foundation
@testable import SerialqQueue
import SerialqSystem
import Testing

/// Jobs files, long commands and damaged queues, as users have them.
@Suite final class InputTests: SceneSuite {
  // Fails if the warning is missing, or comes for a directory that exists.
  @Test("a directory that does not exist is accepted with a warning: an earlier job may make it")
  func missingDirectory() throws {
    try scene.add("mkdir later")
    for command in [["add", "--no-start"], ["run"]] {
      let words = command + ["-C", "later", "basename $PWD"]
      let outcome = try scene.serialq(words)
      #expect(outcome.code == 0)
      #expect(outcome.errorText.contains("/later: no such directory yet") == true)
    }
    let there = try scene.serialq("add", "--no-start", "-C", "later", "true")
    #expect(there.code == 0 && there.errorText.isEmpty)
    #expect(try scene.log(2) == Bytes("later\n"))
  }

  // Fails if one of the columns is not bounded, the width is ignored, or a command gets no room.
  @Test("long labels and commands are cut in list, and lines to COLUMNS")
  func bounds() throws {
    let long = String(repeating: "x", count: 3_000)
    _ = try scene.serialq("add", "--no-start", "-n", long, "echo \(long)")
    let list = try scene.serialq("list").text
    #expect(list.contains(" \(String(repeating: "x", count: 39))…  echo \(long)\n"))
    #expect(try scene.serialq("status").text.split(separator: "\n").allSatisfy { $0.count < 300 })
    for words in [["queues"], ["status"], ["list", "--all"]] {
      let outcome = try scene.serialq(words) {
        $0.environment.append(Bytes("COLUMNS=20"))
      }
      #expect(outcome.text.split(separator: "\n").contains { $0.count == 20 }, "\(words)")
    }
    #expect(try scene.serialq("show", "1").text.contains("echo \(long)"))
    // The end of the output, and the name of a program that does not exist.
    #expect(try scene.serialq("run", "head -c 9000 /dev/zero | tr '\\0' x; exit 3").code == 3)
    #expect(try scene.serialq("run", "--", long).code > 125)
    // The columns of state, exit code and time leave no room for the name too.
    let narrow = try scene.serialq("list") { $0.environment.append(Bytes("COLUMNS=40")) }
    #expect(narrow.text.split(separator: "\n").allSatisfy { $0.count <= 40 })
    #expect(narrow.text.contains("  echo xxx"))
    for words in [["status"], ["status", "--all"], ["wait"], ["wait", "--all"], ["queues"]] {
      let outcome = try scene.serialq(words)
      for line in (outcome.text + outcome.errorText).split(separator: "\n") {
        #expect(line.count < 1_400, "\(words)")
      }
    }
  }

  // Fails if closed input is taken for a fault of the system.
  @Test("a standard input that is closed is an error that says so")
  func closedInput() throws {
    for words in [["add", "-i", "-", "cat"], ["add", "-f", "-"]] {
      let outcome = try scene.serialq(words) { $0.prelude = "exec <&-" }
      expectRefusal(outcome, "reading standard input: Bad file descriptor (read)\nIt is closed")
    }
    #expect(try scene.queue().jobs.isEmpty)
  }

  // Fails if the time is printed in UTC.
  @Test("show prints local times")
  func localTime() throws {
    try scene.add("true")
    let zoned: (inout LaunchOptions) -> Void = { $0.environment.append(Bytes("TZ=AHEAD-5:30")) }
    let shown = try scene.serialq("show", "1", change: zoned).text
    #expect(shown.firstMatch(of: /added +[0-9-]{10} [0-9:]{8} AHEAD\n/) != nil, "\(shown)")
  }

  // Fails if every damaged line has a message of its own.
  @Test("of many damaged lines, the first is named and the others are counted")
  func damagedLines() throws {
    try scene.add("echo 1", "echo 2", "echo 3", "echo 4", "echo 5", "echo 6", "echo 7")
    var journal = try scene.journal()
    for index in journal.indices where journal[index...].starts(with: Bytes("echo")) {
      journal[index] = UInt8(ascii: "E")
    }
    try write(journal, to: scene.queueFolder().journal)
    let errors = try scene.serialq("list").errorText
    #expect(errors.components(separatedBy: "damaged").count == 2, "\(errors)")
    #expect(errors.contains("line 1 and 6 more are damaged (their checksums"), "\(errors)")
  }
}

import Foundation
@testable import SerialqQueue
import SerialqSystem
import TestSupport
import Testing

/// Jobs that another program executes: `set launcher`.
@Suite final class LauncherTests: SceneSuite {
  /// Sets a launcher that is this script of the shell.
  private func setLauncher(_ script: String, options: String = "") throws {
    try writeProgram(Bytes("#!/bin/sh\n\(script)\n".utf8), to: scene.path("launcher"))
    let command = "\(ShellQuote.word(scene.path("launcher"))) \(options)"
    #expect(try scene.serialq("set", "launcher", command).code == 0)
  }

  // Fails if a word is split or joined, the shell of a command line is missing, or a variable.
  @Test(
    "a launcher gets its own words and those of the job, and describes the job by variables",
    .shows(Elsewhere.words))
  func words() throws {
    try setLauncher(
      #"""
      printf '%s\0' "$@" >"words$SERIALQ_JOB"
      printf '%s\n' "$SERIALQ_QUEUE" "$SERIALQ_JOB" "$SERIALQ_ATTEMPT" "$SERIALQ_WORDS" "$GIVEN" \
        "$(umask)" "$(pwd)" "$(cat)" "$SERIALQ_KEY" >"facts$SERIALQ_JOB"
      ls -l /proc/self/fd/63 >/dev/null && echo locked
      echo exit 0 >>"$SERIALQ_RESULT"
      """#, options: "-a 'b c'")
    try write(Bytes("input"), to: scene.path("data"))
    _ = try FileSystem.makeFolder(scene.path("folder"))
    let words = [Bytes("a b"), Bytes("c\nd"), [0xFF, 0xFE], Bytes("-n"), []]
    let add = try scene.serialq(
      [Bytes("run"), Bytes("-e"), Bytes("GIVEN=here"), Bytes("-i"), Bytes("data"), Bytes("--")]
        + [Bytes("program")] + words)
    #expect(add.code == 0 && add.text == "locked\n", "\(add.errorText)")
    let options = [Bytes("-a"), Bytes("b c")]
    func joined(_ words: [Bytes]) -> Bytes { Bytes(words.map { $0 + [0] }.joined()) }
    #expect(try content(scene.path("words1")) == joined(options + [Bytes("program")] + words))
    let key = try scene.queueFolder().spoolIdentity()
    let facts = try content(scene.path("facts1")).text.split(
      separator: "\n", omittingEmptySubsequences: false)
    #expect(facts[..<5] == ["default", "1", "1", "6", "here"])
    #expect(facts[6...].dropLast() == [scene.work.text[...], "input", "\(key.text)/default/1/1"])
    #expect(try scene.serialq("run", "echo $HOME").code == 0)
    let line = [Bytes("/bin/sh"), Bytes("-c"), Bytes("echo $HOME")]
    #expect(try content(scene.path("words2")) == joined(options + line))
  }

  // Fails if the exit code of the launcher counts, or a missing result is a success or a failure.
  @Test(
    "the launcher's report is the result, and without one the job is interrupted",
    .shows(Elsewhere.report),
    arguments: [
      ("echo exit 0 >>$SERIALQ_RESULT; exit 7", JobState.succeeded, "succeeded after"),
      ("echo exit 3 >>$SERIALQ_RESULT", .failed, "failed with exit code 3"),
      ("echo signal KILL >>$SERIALQ_RESULT", .killed, "was killed by SIGKILL"),
      (
        "echo cannot 127 no such program >>$SERIALQ_RESULT", .failed,
        "could not be run (127): no such program"
      ),
      (
        "echo lost node n1 failed >>$SERIALQ_RESULT", .interrupted,
        "was interrupted: node n1 failed, outcome unknown"
      ),
      (
        "exit 0", .interrupted,
        "was interrupted: its launcher exited with code 0 and no result, outcome unknown"
      ),
      ("printf 'exit 0' >>$SERIALQ_RESULT", .interrupted, "exited with code 0 and no result"),
      ("rm $SERIALQ_RESULT", .interrupted, "and no result"),
      ("kill -9 $$", .interrupted, "was interrupted: its launcher was killed by SIGKILL"),
    ])
  func result(script: String, state: JobState, text: String) throws {
    try setLauncher("[ $SERIALQ_JOB = 2 ] && exec \"$@\"\n\(script)")
    try scene.add("true")
    let run = try scene.serialq("run")
    #expect(run.code == (state == .succeeded ? 0 : 1))
    #expect(try scene.states() == [state])
    let shown = try scene.serialq("show", "1").text
    #expect(shown.contains(text), "\(shown)")
    let isSaid = state == .interrupted || text.contains("not be run")
    #expect(try scene.log(1).text.hasPrefix("serialq: ") == isSaid)
    // The queue continues, and the record of the attempt is complete without its file.
    #expect(try scene.serialq("set", "launcher", "").code == 0)
    #expect(try scene.serialq("run", "true").code == 0)
    #expect(try FileSystem.names(in: scene.queueFolder().locks).isEmpty)
    let job = try #require(try scene.listed().first)
    let launcher = try #require(job["launcher"] as? [String: Any])
    #expect((launcher["command"] as? String)?.hasSuffix("launcher") == true)
    #expect(try scene.listed().last?["launcher"] is NSNull)
  }

  // Fails if the children of the launcher are signaled, SIGKILL comes first, or the next job starts
  // before the launcher has ended.
  @Test(
    "a launcher alone receives SIGTERM, also for --signal KILL and a time limit",
    .shows(Elsewhere.alone),
    arguments: [["cancel", "1"], ["cancel", "1", "--signal", "KILL"], []])
  func cancel(words: [String]) throws {
    // The child would end at once, and report it.
    try setLauncher(
      """
      [ $SERIALQ_JOB = 2 ] && { echo second >>rec; echo exit 0 >>$SERIALQ_RESULT; exit; }
      sh -c 'trap "echo child >>rec; exit" TERM; echo up; read x <gate; echo over >>rec' &
      trap 'echo term >>rec; echo go >gate; wait; echo signal TERM >>$SERIALQ_RESULT; exit' TERM
      wait
      """)
    let limit = words.isEmpty ? ["--timeout", "1"] : []
    #expect(try scene.serialq(["add"] + limit + ["true"]).code == 0)
    try scene.waitForLog(1, "up\n")
    #expect(try scene.serialq("add", "true").code == 0)
    if !words.isEmpty { #expect(try scene.serialq(words).code == 0) }
    #expect(try scene.serialq("wait", "2").code == 0)
    #expect(try content(scene.path("rec")).text == "term\nover\nsecond\n")
    #expect(try scene.states() == [words.isEmpty ? .timedOut : .cancelled, .succeeded])
  }

  // Fails if the result of a launcher that outlived its runner is lost.
  @Test(
    "a launcher whose runner was killed delays the next job, and its result is recorded",
    .shows(Elsewhere.outlives))
  func orphan() throws {
    try setLauncher(
      "echo begun; read x <gate; echo first >>rec; echo node n1 >>$SERIALQ_RESULT; echo exit 3 >>$SERIALQ_RESULT"
    )
    try scene.add("true")
    try scene.orphanJob(printing: "begun")
    try setLauncher("echo second >>rec; echo exit 0 >>$SERIALQ_RESULT")
    #expect(try scene.serialq("add", "--no-start", "true").code == 0)
    let second = try scene.start("run").waitForErrors("waiting for it to end")
    try gate.open()
    #expect(try second.wait().code == 1)
    #expect(try scene.states() == [.failed, .succeeded])
    #expect(try content(scene.path("rec")).text == "first\nsecond\n")
    let shown = try scene.serialq("show", "1").text
    #expect(shown.contains("failed with exit code 3") && shown.contains(/node +n1\n/))
  }
}

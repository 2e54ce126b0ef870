@testable import SerialqCLI
import SerialqQueue
import SerialqSystem
import TestSupport
import Testing

/// The five examples of the manual's chapter on terminals, as a user types them.
@Suite(.beside) final class AttachStoriesTests: SceneSuite {
  /// The lines of an example, by its place in the manual.
  private func lines(ofExample index: Int) throws -> [String] {
    let section = try #require(try Manual.text.components(separatedBy: "\n.Ss Five examples").last)
    let examples = section.components(separatedBy: "\n.Ed")[0].components(separatedBy: "\n\n")
    try #require(examples.count == 5)
    return examples[index].split(separator: "\n").map(String.init)
      .filter { $0.hasPrefix("serialq") }
  }

  /// Makes a program that the jobs of a scene find.
  private func make(_ name: String, _ script: String) throws {
    try writeProgram(
      Bytes("#!/bin/sh\n\(script)\n".utf8),
      to: scene.programs.appending(path: Bytes(name.utf8)))
  }

  private func type(_ line: String, _ terminal: Terminal) throws {
    try terminal.type("clear; \(line)")
  }

  /// Types a line that adds job 1, and waits until it has.
  private func add(_ line: String, _ terminal: Terminal) throws {
    try type(line, terminal)
    try terminal.waitFor("the id") { $0.suffix(2) == ["1", "$"] }
  }

  // Fails if the passphrase cannot be typed, the queue does not say that it is asked for, or it is
  // in the log.
  @Test(
    "a passphrase is asked for, reported and typed", .needs(.tmux, .bash, .sshKeygen))
  func passphrase() throws {
    let lines = try lines(ofExample: 0)
    try make("ssh-add", "exec ssh-keygen -y -f key >public")
    try make("rsync", #"printf '\r 42%%'; read x <gate; printf '\r100%%\n'"#)
    let key = try scene.script("ssh-keygen -q -t ed25519 -N secret -f key")
    #expect(key.code == 0, "\(key.errorText)")
    let terminal = try Terminal(scene)
    try add(lines[0], terminal)
    try scene.waitForJob(1) { $0.question?.kind == .password }
    try type(lines[1], terminal)
    try terminal.waitForLine("  asks for a password: Enter ")
    try type(lines[2], terminal)
    try terminal.waitFor("the question") { $0.last?.hasPrefix("Enter passphrase") == true }
    try terminal.type("secret")
    try terminal.waitFor("the progress") { $0.last == " 42%" }
    try terminal.press(#"C-\"#)
    try terminal.waitFor("the prompt") { $0.suffix(2) == ["serialq: job 1 continues", "$"] }
    #expect(try scene.queue().job(1)?.question == nil)
    try gate.open()
    #expect(try scene.serialq("wait", "1").code == 0)
    #expect(try !scene.log(1).text.contains("secret"))
    #expect(try content(scene.path("public")).text.hasPrefix("ssh-ed25519 "))
  }

  // Fails if the question is not noticed, or the answer does not arrive.
  @Test(
    "a confirmation is reported by the on-ask command, and answered", .needs(.tmux, .bash))
  func confirmation() throws {
    let lines = try lines(ofExample: 1)
    try make("notify-send", #"printf '%s|' "$@" >>told; echo >>told"#)
    let question = "Do you want to continue? [Y/n]"
    try make(
      "apt",
      #"[ "$*" = upgrade ] && printf '\#(question) ' && read x && [ "$x" = Y ] && echo done"#)
    let terminal = try Terminal(scene)
    try type(lines[0], terminal)
    try add(lines[1], terminal)
    try scene.waitForFile("told", "--|#1|\(question)|")
    try type(lines[2], terminal)
    try terminal.waitFor("the question") { $0.last == question }
    try terminal.type("Y", until: "serialq: job 1 succeeded")
    #expect(try scene.log(1).text == "\(question) Y\r\ndone\r\n")
  }

  // Fails if the bar is not drawn in place, the job ends with its terminal, or every state of the
  // bar is a line of the log.
  @Test(
    "a progress bar is watched and left, and its last state remains", .needs(.tmux, .bash))
  func progress() throws {
    let lines = try lines(ofExample: 2)
    let bar = #"for i in 10 20 30; do printf '\r%3d%% [\033[32m==>\033[m  ]' $i; done"#
    try make("wget", #"\#(bar); read x <gate; printf '\r100%% [=====]\n'"#)
    let terminal = try Terminal(scene)
    try add(lines[0], terminal)
    try scene.waitForLog(1, "30%")
    try type(lines[1], terminal)
    try terminal.waitFor("the bar") { $0.last == " 30% [==>  ]" }
    #expect(try terminal.screen().count { $0.contains("%") } == 1)
    try terminal.press(#"C-\"#)
    try terminal.waitFor("the prompt") { $0.suffix(2) == ["serialq: job 1 continues", "$"] }
    try gate.open()
    #expect(try scene.serialq("wait", "1").code == 0)
    try type(lines[2], terminal)
    try terminal.waitFor("the log") { $0 == ["100% [=====]", "$"] }
  }

  // Fails if the shell has no job control, another job runs meanwhile, or its exit code is lost.
  @Test(
    "a shell runs in the order of the queue, and no other job with it", .needs(.tmux, .bash))
  func shell() throws {
    let lines = try lines(ofExample: 3)
    // The system's own file for interactive shells may set another prompt.
    try write(Bytes("PS1='$ '\n".utf8), to: scene.path(".bashrc"))
    let terminal = try Terminal(scene)
    try type(lines[0], terminal)
    try terminal.waitFor("the shell") { $0.contains { $0.contains("attached") } && $0.last == "$" }
    _ = try scene.serialq("add", "echo next")
    // Not when its line is shown: until it has started, the key would stop the shell, which ignores
    // it.
    try terminal.type("sh -c 'echo begun; exec sleep 1000'", until: "begun")
    try terminal.press("C-z")
    try terminal.waitFor("a stopped command") { $0.contains { $0.contains("Stopped") } }
    // The shell does not exit before it knows of the end.
    try terminal.type(
      "kill -9 %1; wait -f %1; echo this is job $SERIALQ_JOB", until: "this is job 1")
    #expect(try scene.states() == [.running, .waiting])
    try terminal.type("exit 4", until: "[1] failed with exit code 4")
    try terminal.waitForLine("next")
    try terminal.waitForLine("serialq: 1 of 2 succeeded")
  }

  // Fails if an editor cannot draw, is not drawn again, or leaves its screen behind.
  @Test(
    "git rebase -i with vi is left and attached again",
    .needs(.tmux, .bash, .git, .vi))
  func editor() throws {
    let lines = try lines(ofExample: 4)
    let setup = """
      git config --global user.name me; git config --global user.email me@example.org
      git config --global core.editor vi; git init -q; echo 'set nocompatible' >.vimrc
      for i in one two three; do echo $i >$i; git add $i; git commit -qm $i; done
      """
    #expect(try scene.script(setup).code == 0)
    let terminal = try Terminal(scene)
    try add(lines[0], terminal)
    try scene.waitForLog(1, "three")
    for _ in 1...2 {
      try type("echo before; \(lines[1])", terminal)
      try terminal.waitFor("the editor") { screen in
        screen.contains { $0.hasPrefix("pick") && $0.hasSuffix("two") }
          && screen.contains { $0.hasPrefix("pick") && $0.hasSuffix("three") }
      }
      try terminal.press(#"C-\"#)
      try terminal.waitFor("the main screen") {
        $0.first == "before" && $0.suffix(2) == ["serialq: job 1 continues", "$"]
      }
    }
    try type(lines[1], terminal)
    try terminal.waitFor("the editor") { $0.contains { $0.hasPrefix("pick") } }
    try terminal.resize(columns: 40, rows: 12)
    // At last to the first line: an editor that learns of its new size only now may scroll.
    for key in ["g", "g", "d", "d", "p", "g", "g"] { try terminal.press(key) }
    try terminal.waitFor("the new order") { screen in
      let picks = screen.filter { $0.hasPrefix("pick") }
      return picks.count == 2 && picks[0].hasSuffix("three") && picks[1].hasSuffix("two")
    }
    try terminal.type(":wq", until: "serialq: job 1 succeeded")
    #expect(try scene.script("git log --format=%s").text == "two\nthree\none\n")
    #expect(try terminal.isCursorShown())
  }
}

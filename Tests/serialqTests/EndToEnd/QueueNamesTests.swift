@testable import SerialqQueue
import SerialqSystem
import TestSupport
import Testing

/// Queues are made on purpose only, and a mistyped name is reported.
@Suite final class QueueNamesTests: SceneSuite {
  private static let readers = [
    ["status"], ["list"], ["log"], ["log", "-f"], ["log", "1"], ["show", "1"], ["wait"],
    ["wait", "1"], ["report"], ["clean"], ["run"], ["set"], ["resume"], ["start"],
    ["cancel", "--all"], ["retry", "--failed"], ["ack", "--all"], ["edit", "1"],
    ["move", "1", "--first"],
  ]

  // Fails if a command makes the queue that it reads, or does not name those that have jobs.
  @Test("a mistyped queue is not made, and the queues with jobs are named")
  func mistyped() throws {
    for name in ["one", "two"] {
      #expect(try scene.serialq("add", "-q", name, "--no-start", "true").code == 0)
    }
    #expect(try scene.serialq("set", "-q", "empty", "keep", "9").code == 0)
    for words in Self.readers {
      let outcome = try scene.serialq(words + ["-q", "tow"])
      let said = outcome.errorText + outcome.text
      #expect(said.contains("tow") && said.contains("Queues with jobs: one, two"), "\(said)")
      // Else `wait -q tow && deploy` would deploy.
      if words[0] == "wait" { expectRefusal(outcome, "queue tow: it has no jobs") }
      let names = try Spool(path: scene.spool).queueNames()
      #expect(names == ["empty", "one", "two"], "\(words)")
    }
  }

  // Fails if an acknowledged failure is listed, or an open one is not.
  @Test("list --open shows what status leads with")
  func open() throws {
    try scene.add("true", "false", "exit 2")
    #expect(try scene.serialq("add", "--no-start", "--if-ok", "true").code == 0)
    #expect(try scene.serialq("run").code == 1)
    #expect(try scene.listedIDs("--open") == [2, 3, 4])
    #expect(try scene.serialq("ack", "2").code == 0)
    #expect(try scene.listedIDs("--open") == [3, 4])
    #expect(try scene.listedIDs("--failed") == [2, 3, 4])
  }

  // Fails if a mistyped name of a queue for a new job goes unnoticed.
  @Test("add says on a terminal that a named queue is new", .needs(.tmux, .bash))
  func new() throws {
    let terminal = try Terminal(scene)
    try terminal.type(
      "clear; serialq add -q buidl true; serialq add -q buidl true; serialq add true")
    try terminal.waitFor("the ids") { lines in
      let shown = lines.filter { !$0.isEmpty }
      return Array(shown.suffix(5)) == ["serialq: queue buidl is new", "1", "2", "1", "$"]
    }
  }

  // Fails if a pause of a mistyped queue looks like one of the right queue.
  @Test("pause and set make a queue, and report that it is empty")
  func made() throws {
    try scene.add("true")
    for (words, message) in [
      (["pause", "-q", "a"], "the new queue a is now paused; queues with jobs: default"),
      (["set", "-q", "b", "keep", "3"], "queue b is empty\nQueues with jobs: default"),
    ] {
      let first = try scene.serialq(words)
      #expect(first.code == 0)
      #expect(first.errorText == "serialq: \(message)\n")
      #expect(try scene.serialq(words).errors.isEmpty)
    }
  }

  // Fails if the watch makes the queue, or misses that another process makes it.
  @Test("status -w does not make a queue, and shows its first job")
  func watched() throws {
    let watching = try scene.start("status", "-w", "-q", "new").waitForOutput("Queue new is empty.")
    #expect(try Spool(path: scene.spool).queueNames().isEmpty)
    #expect(try scene.serialq("-q", "new", "run", "exit 3").code == 3)
    try watching.waitForOutput("job 1 failed with exit code 3")
    #expect(try watching.end(SIGINT).status == .killed(SIGINT))
  }

  // Fails if one queue that cannot be read hides the others, or its row does not say why; if a queue
  // has the counts of another; or if a link is followed, or left out as if there were no such queue.
  @Test(
    "queues shows a queue that cannot be read, with what is wrong, beside the others",
    arguments: [false, true])
  func unreadable(isLink: Bool) throws {
    #expect(try scene.serialq("run", "-q", "a", "exit 1").code == 1)
    for name in ["b", "c", "c"] {
      #expect(try scene.serialq("add", "-q", name, "--no-start", "true").code == 0)
    }
    let path = try scene.queueFolder("b").path.text
    let change =
      isLink ? "mv '\(path)' away; ln -s \"$PWD/away\" '\(path)'" : "chmod 0770 '\(path)'"
    #expect(try scene.script(change).code == 0)
    let fault =
      isLink
      ? "\(path): is a symbolic link, which could be redirected"
      : "\(path): others can write to it (mode 770, owner \(geteuid()))"
    let advice =
      isLink
      ? "Remove it, or move its target here if all commands in it are yours."
      : "If all commands in it are yours, run: chmod go-w \(path)"
    let listed = try scene.serialq("queues")
    #expect(listed.code == 125)
    #expect(
      listed.text == """
        QUEUE  WAITING  RUNNING  DONE  OPEN
        a            0        0     1     1
        b            ?        ?     ?     ?  \(fault)
        c            2        0     0     0  no runner

        """)
    #expect(listed.errorText == "serialq: \(fault)\n\(advice)\n")
    expectRefusal(try scene.serialq("start", "--all"), fault)
    let json = try scene.serialq("queues", "--json")
    #expect(json.code == 125 && json.text.contains("\"queue\":\"c\",\"error\":null,"))
    #expect(json.text.contains("\"queue\":\"b\",\"error\":\"\(fault)\"}"), "\(json.text)")
  }

  // Fails if the files of another program are taken for those of a queue, and removed with it.
  @Test("a folder with other files is no queue: it is not listed, used or removed")
  func foreign() throws {
    let other = scene.spool.appending(path: Bytes("other"))
    let made = try scene.script("mkdir -p '\(other.text)/sub' && echo x >'\(other.text)/file'")
    #expect(made.code == 0)
    #expect(try scene.serialq("queues").text == "")
    for words in [["queues", "--remove", "other"], ["add", "-q", "other", "true"]] {
      let outcome = try scene.serialq(words)
      let expected = """
        serialq: \(other.text): it has files that are not of a queue: file and 1 more
        Nothing was changed. Move them away, use another name with -q, or set SERIALQ_DIR to a folder that \
        only serialq uses.

        """
      #expect(outcome.code == 125 && outcome.errorText == expected, "\(outcome.errorText)")
    }
    #expect(try FileSystem.names(in: other).map(\.text).sorted() == ["file", "sub"])
  }

  // Fails if a queue with jobs is removed, or something of an empty one stays.
  @Test("queues --remove removes a queue without jobs, and no other")
  func remove() throws {
    #expect(try scene.serialq("run", "-q", "old", "echo output").code == 0)
    expectRefusal(try scene.serialq("queues", "--remove", "old"), "queue old: it has 1 job")
    #expect(try scene.log(1, in: "old") == Bytes("output\n"))
    #expect(try scene.serialq("clean", "-q", "old").code == 0)
    let removed = try scene.serialq("queues", "--remove", "old")
    #expect(removed.code == 0 && removed.errors.isEmpty, "\(removed.errorText)")
    #expect(try FileSystem.names(in: scene.spool).isEmpty)
    // It begins again.
    #expect(try scene.serialq("add", "-q", "old", "--no-start", "true").text == "1\n")
  }

  #if os(Linux)
    // Fails if the job is appended to a removed queue, or beside the lock of a new one: drop the
    // comparison of the lock files in `Journal.locked`.
    @Test("a command that waits for the lock of a queue that is removed changes nothing")
    func removedMeanwhile() throws {
      let folder = try Spool(path: scene.spool).makeQueue(named: "old").folder
      let lock = try FileDescriptor.open(folder.lock, .lock)
      try lock.lock()
      let adding = try scene.start("add", "-q", "old", "--no-start", "true")
      try waitForLockWaiter(adding.pid)
      try folder.remove()
      _ = try Spool(path: scene.spool).makeQueue(named: "old")
      _ = try FileDescriptor.open(folder.lock, .lock)
      lock.unlock()
      expectRefusal(try adding.wait(), "queue old: it was removed at this moment")
      #expect(try scene.journal("old").isEmpty)
    }

    /// Waits until a process waits for a lock: the kernel lists it, but reports no event.
    private func waitForLockWaiter(_ process: Int32) throws {
      try waitUntil("process \(process) to wait for a lock") {
        try content(Bytes("/proc/locks")).text.split(separator: "\n").contains { line in
          line.contains("->") && line.contains(" \(process) ")
        }
      }
    }
  #endif
}

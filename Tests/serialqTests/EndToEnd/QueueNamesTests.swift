@testable import SerialqQueue
import SerialqSystem
import TestSupport
import Testing

/// Queues are made on purpose only, and a mistyped name is reported.
@Suite final class QueueNamesTests: SceneSuite {
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

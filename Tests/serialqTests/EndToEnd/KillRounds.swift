import Foundation
import SerialqQueue
@testable import SerialqRunner
import SerialqSystem
import TestSupport
import Testing

/// Kills at random moments while jobs run, and what must be true of the queue afterwards.
///
/// `SERIALQ_SEED=0x… swift test --filter SUITE` repeats the victims and moments of a reported
/// failure; SERIALQ_KILLS sets their number.
struct KillRounds {
  /// An attempt, as the jobs record it.
  struct Attempt: Hashable, Comparable {
    var job: JobID
    var number: Int

    static func < (one: Self, other: Self) -> Bool {
      (one.job, one.number) < (other.job, other.number)
    }
  }

  let scene: Scene
  let count: Int
  var random: SeededGenerator
  /// The jobs that a round has ended.
  var ended: Set<JobID> = []
  private let seed: UInt64

  init(_ scene: Scene, _ usual: Int, long: Int) {
    let environment = ProcessInfo.processInfo.environment
    self.scene = scene
    count = environment["SERIALQ_KILLS"].flatMap { Int($0) } ?? (isLong ? long : usual)
    seed =
      environment["SERIALQ_SEED"].flatMap {
        UInt64(
          $0.hasPrefix("0x") ? String($0.dropFirst(2)) : $0, radix: $0.hasPrefix("0x") ? 16 : 10)
      } ?? (isLong ? .random(in: 0 ... .max) : 20_261_123)
    random = SeededGenerator(seed: seed)
    tally(count)
  }

  var seedText: Comment { "SERIALQ_SEED=0x\(String(seed, radix: 16))" }

  /// Waits for a random time in microseconds: the moment of the kill is under test.
  mutating func sleep(_ range: ClosedRange<UInt32>) { usleep(.random(in: range, using: &random)) }

  // MARK: Jobs

  /// A command line that records its start, and whether another job is at work; `work` records its
  /// end.
  ///
  /// Its lock is released with its shell: what the shell starts closes descriptor 5.
  static func job(setUp: String = "", _ work: String) -> String {
    """
    id="$SERIALQ_JOB ${SERIALQ_ATTEMPT:-1}"; \(setUp) exec 5>>busy; \
    flock -n 5 || echo overlap $id >>rec; echo start $id >>rec; \(work)
    """
  }

  /// Repeats a command until the rounds end, with a job in `$JOB`.
  ///
  /// Ends with the test, also if the test is killed.
  func adder(_ command: String, job: String) throws -> LaunchedProgram {
    let script = "while [ ! -e stop ] && kill -0 $PPID; do \(command); sleep 0.1; done"
    return try scene.launch(["/bin/sh", "-c", script]) {
      $0.environment.append(Bytes("JOB=\(job)".utf8))
    }
  }

  /// The running job, if its lock shows that it still runs.
  func running() throws -> (job: Job, pid: Int32)? {
    let queue = try scene.queue()
    guard let job = queue.running.compactMap(queue.job).first, let pid = job.running?.pid,
      try JobLock.isHeld(job.id, scene.queueFolder())
    else { return nil }
    return (job, pid)
  }

  // MARK: Afterwards

  /// Waits until every job is over.
  func finish() throws -> Queue {
    let code = try scene.serialq("wait").code
    let queue = try scene.queue()
    #expect(queue.overCount == queue.jobs.count, seedText)
    #expect(code == (queue.openCount == 0 ? 0 : 1), seedText)
    return queue
  }

  /// Expects that each attempt was started once, in order, and ended before the next one.
  ///
  /// Returns the attempts and, of those that recorded their end, the last word of that line.
  func record(canMissEnd: Set<JobID>) throws -> (starts: Set<Attempt>, ends: [Attempt: Int]) {
    let lines = try content(scene.path("rec")).text.split(separator: "\n").map { line in
      let words = line.split(separator: " ")
      let attempt = Attempt(job: Int(words[1]) ?? 0, number: Int(words[2]) ?? 0)
      return (word: words[0], attempt: attempt, last: Int(words[words.count - 1]) ?? -1)
    }
    let starts = lines.filter { $0.word == "start" }.map(\.attempt)
    #expect(starts == starts.sorted() && Set(starts).count == starts.count, seedText)
    var open: Attempt?
    for (word, attempt, _) in lines {
      if word == "overlap" {
        // A process of a killed job can hold the lock for a moment longer than its leader.
        let before = (starts.map(\.job) + canMissEnd).filter { $0 < attempt.job }.max()
        #expect(before.map(canMissEnd.contains) == true, "\(attempt); \(seedText)")
      } else if word == "start" {
        if let open { #expect(canMissEnd.contains(open.job), "\(open), \(attempt); \(seedText)") }
        open = attempt
      } else {
        #expect(open == attempt, seedText)
        open = nil
      }
    }
    if let open { #expect(canMissEnd.contains(open.job), "\(open); \(seedText)") }
    let ends = lines.filter { $0.word == "end" }.map { ($0.attempt, $0.last) }
    return (Set(starts), Dictionary(ends) { first, _ in first })
  }

  /// Expects that no runner, job or keeper exists, and that these processes end.
  func expectNothingLeft(_ others: [Int32] = []) throws {
    try scene.waitForNoRunner()
    let locks = try scene.queueFolder().locks
    for name in try FileSystem.names(in: locks) where name.text.hasSuffix(".keeper") {
      let lock = try FileDescriptor.openIfThere(locks.appending(path: name), .readWrite)
      try lock?.lock()
      lock?.unlock()
    }
    #if os(Linux)
      for pid in try scene.processes().union(others) {
        let isGone = try ProcessHandle(pid).waitForEnd(until: LaunchedProgram.deadline())
        #expect(isGone != false, "process \(pid) is left; \(seedText)")
      }
    #endif
  }
}

import SerialqQueue
@testable import SerialqRunner
import SerialqSystem
import Testing

// The processes of a scene, and ways to kill them.
extension Scene {
  /// Kills the runner with SIGKILL; when this returns, it is dead.
  func killRunner(in queue: String = "default") throws {
    let lock = try RunnerLock.open(queueFolder(queue))
    #expect(kill(try waitForRunner(in: queue), SIGKILL) == 0)
    try lock.lock()
    lock.unlock()
  }

  /// Kills the runner and then the job that it runs; when this returns, both are dead.
  func killRunner(andJob id: JobID) throws {
    // Without its runner the process of the job is not recorded any more, and not found.
    _ = try waitForProcess(of: id)
    try killRunner()
    try killJob(id)
  }

  /// Kills a running job with all its processes; when this returns, they are dead.
  func killJob(_ id: JobID, in queue: String = "default") throws {
    let process = try waitForProcess(of: id, in: queue)
    let lock = try #require(try JobLock.existing(id, queueFolder(queue)))
    #expect(kill(-process, SIGKILL) == 0)
    try lock.lock()
    lock.unlock()
  }

  /// Waits until a runner waits for the end of a job whose runner died.
  func waitForWait(for id: JobID, in queue: String = "default") throws {
    let folder = try queueFolder(queue)
    try waitUntil("a runner of \(queue) that waits for job \(id)", watching: [folder.path]) {
      try RunnerLock.orphan(folder) == id
    }
  }

  /// Waits until there is no runner.
  func waitForNoRunner(in queue: String = "default") throws {
    let lock = try RunnerLock.open(queueFolder(queue))
    try lock.lock()
    lock.unlock()
  }

  /// The live processes of this scene's queues: runners, jobs and all their descendants have its
  /// spool in their environment.
  ///
  /// Empty without `/proc`.
  func processes() throws -> Set<Int32> {
    #if os(Linux)
      Set(try markedProcesses(with: Bytes("SERIALQ_DIR=") + spool))
    #else
      []
    #endif
  }

  #if os(Linux)
    /// Sets how many descriptors a process may have, as `prlimit --nofile=COUNT:`.
    func limitDescriptors(of pid: Int32, to count: UInt) {
      var limit = rlimit()
      _ = prlimit(pid, RLIMIT_NOFILE, nil, &limit)
      limit.rlim_cur = count
      _ = prlimit(pid, RLIMIT_NOFILE, &limit, nil)
    }

    /// How many descriptors and threads a process has.
    func holdings(of pid: Int32) throws -> Int {
      try ["fd", "task"].map { try FileSystem.names(in: Bytes("/proc/\(pid)/\($0)".utf8)).count }
        .reduce(0, +)
    }
  #endif
}

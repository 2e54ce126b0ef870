@testable import SerialqRunner
import SerialqSystem
import TestSupport
import Testing

/// Kills runners, keepers, jobs and attached terminals at random moments.
@Suite final class TerminalKillRoundsTests: SceneSuite {
  private enum Victim: CaseIterable { case runner, keeper, job, client, none }

  // Fails if the keeper ends with its runner, the next job starts beside one whose keeper died, a
  // client leaves its terminal raw, or a keeper waits for a runner that does not come.
  @Test(
    "whichever process of a job with a terminal is killed, nothing is lost, left or told wrongly",
    .shows(Running.orphans, Running.order), .needs(.flock))
  func rounds() throws {
    // Each victim once, under a sanitizer.
    var rounds = KillRounds(scene, max(Victim.allCases.count, 15 / ease), long: 200)
    let adder = try rounds.adder(
      #"serialq add -t -c "$JOB" >>ids || exit"#,
      job: KillRounds.job("printf 'Sure? '; sleep 0.02 5>&-; echo; echo end $id >>rec"))
    try scene.waitForFile("ids", "1\n")
    for round in 0..<rounds.count {
      let victim = Victim.allCases[round % Victim.allCases.count]
      let client = try TerminalClient(scene)
      rounds.sleep(0...80_000)
      try strike(victim, client, &rounds)
      let ending = try client.child.end("attach")
      if victim != .client {
        if case .killed(let signal) = ending { Issue.record("attach was killed by \(signal)") }
        #expect(client.isUsual, "the terminal is left raw")
      }
      if victim == .runner { #expect(try scene.serialq("start").code == 0) }
    }
    try write([], to: scene.path("stop"))
    _ = try adder.wait()
    try check(rounds)
  }

  private func strike(
    _ victim: Victim, _ client: TerminalClient, _ rounds: inout KillRounds
  ) throws {
    switch victim {
    case .none: break
    case .client: _ = kill(client.child.pid, SIGKILL)
    case .runner: if let pid = try scene.runner() { kill(pid, SIGKILL) }
    case .keeper:
      guard let id = try scene.queue().running.first,
        KeeperLock.keeper(id, try scene.queueFolder())?.handle.send(SIGKILL) == 0
      else { return }
      rounds.ended.insert(id)
    case .job:
      guard let (job, pid) = try rounds.running(), kill(-pid, SIGKILL) == 0 else { return }
      rounds.ended.insert(job.id)
    }
  }

  private func check(_ rounds: KillRounds) throws {
    let queue = try rounds.finish()
    let ids = try content(scene.path("ids")).text.split(separator: "\n").compactMap { Int($0) }
    #expect(ids == queue.jobs.map(\.id))
    let ends = try rounds.record(canMissEnd: rounds.ended).ends
    for job in queue.jobs {
      switch job.state {
      case .succeeded:
        #expect(ends.keys.contains { $0.job == job.id }, "job \(job.id)")
        // Its keeper may have been killed when the job had just ended, and the log says so.
        let log = try scene.log(job.id).text
        let isCut =
          rounds.ended.contains(job.id) && log.contains("terminal was ended by SIGKILL")
        #expect(isCut || log.hasSuffix("Sure? \r\n"), "job \(job.id): \(log)")
      case .killed, .failed:
        #expect(rounds.ended.contains(job.id), "job \(job.id): \(job.state)")
      case .interrupted: break
      default: Issue.record("job \(job.id): \(job.state)")
      }
    }
    try rounds.expectNothingLeft()
  }
}

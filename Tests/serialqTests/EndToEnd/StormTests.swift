#if os(Linux)
  import Dispatch
  import Foundation
  import SerialqQueue
  import SerialqSystem
  import TestSupport
  import Testing

  /// Eight clients that give random commands at the same time, while processes are killed and
  /// denied descriptors.
  ///
  /// `SERIALQ_STORM=SECONDS` sets how long, and SERIALQ_SEED repeats the choices of a report. With
  /// `SERIALQ_SAID=FILE`, a line in FILE for each command: its words, its exit code, its messages.
  @Suite final class StormTests: SceneSuite {
    /// Records its start, whether another job is at work, and its end, before which it prints more
    /// than the limit: a job of `SECONDS CODE NAME`.
    private static let job = """
      #!/bin/sh
      exec 5>>busy
      flock -n 5; [ $? = 1 ] && echo overlap $SERIALQ_JOB >>rec
      echo start $SERIALQ_JOB >>rec
      sleep $1 5>&-
      seq -f "$3 %g" 300
      echo end $SERIALQ_JOB $2 >>rec
      exit $2

      """

    // Fails if a job is started twice or beside another one, if an added job neither runs nor is
    // reported, if a command exits with 0 for a job that failed or does not print its output, or if
    // one crashes.
    @Test(
      "in a storm of commands and kills, no job is lost, doubled or misreported",
      .shows(Running.orphans, Running.order), .needs(.flock))
    func storm() throws {
      let environment = ProcessInfo.processInfo.environment
      let usual: Int64 = isLong ? 30 : isDeep ? 4 : 1
      let seconds = environment["SERIALQ_STORM"].flatMap { Int64($0) } ?? usual
      let rounds = KillRounds(scene, 0, long: 0)
      try write(Bytes(Self.job.utf8), to: scene.path("job"))
      #expect(try scene.script("chmod +x job && serialq set log-limit 1K").code == 0)
      let end = Clock.monotonic() + seconds * 1_000_000_000
      let clients = try (0...8).map { try StormClient(scene, number: $0, seed: rounds.random, end) }
      let over = DispatchGroup()
      for (number, client) in clients.enumerated() {
        // A queue for each: it gets a thread at once, however many wait.
        DispatchQueue(label: "client \(number)").async(group: over) {
          if number == 8 { client.destroy() } else { client.work() }
        }
      }
      over.wait()
      for client in clients { #expect(client.fault == nil, rounds.seedText) }
      _ = try scene.serialq("resume")
      let queue = try rounds.finish()
      try rounds.expectNothingLeft()
      let record = try StormRecord(content(scene.path("rec")).text)
      #expect(record.overlaps.isEmpty, rounds.seedText)
      check(queue, record, rounds)
      check(clients.flatMap(\.results), queue, record, rounds)
      if let path = environment["SERIALQ_SAID"] {
        let lines = clients.flatMap(\.results).map { "\($0)\n" }.joined()
        try write(Bytes(lines.utf8), to: Bytes(path.utf8))
      }
    }

    // MARK: Afterwards

    /// Expects that the states are those that the jobs have recorded, and that no attempt is
    /// missing.
    private func check(_ queue: Queue, _ record: StormRecord, _ rounds: KillRounds) {
      for job in queue.jobs {
        let text: Comment = "job \(job.id), \(job.state), \(job.attempts); \(rounds.seedText)"
        #expect(record.starts[job.id, default: 0] <= job.attempts, text)
        switch (job.state, job.ending) {
        case (.succeeded, _): #expect(record.codes[job.id]?.last == 0, text)
        // A shell that has started the job reports a signal to it like this.
        case (.failed, .exited(let code))
        where job.command.isShell && StormClient.signals.contains(code - 128): break
        case (.failed, .exited(let code)): #expect(record.codes[job.id]?.last == code, text)
        case (.killed, _), (.timedOut, _), (.interrupted, _), (.cancelled, _), (.skipped, _): break
        default: Issue.record(text)
        }
      }
    }

    /// Expects that what a command reported is what happened.
    private func check(
      _ results: [StormClient.Result], _ queue: Queue, _ record: StormRecord, _ rounds: KillRounds
    ) {
      let documented = Set([0, 1, 2, 3, 124, 125] + StormClient.signals.map { 128 + $0 })
      for result in results {
        let text: Comment = "\(result); \(rounds.seedText)"
        #expect(documented.contains(result.code), text)
        #expect(!result.errors.contains("Fatal") && !result.errors.contains("descriptor 6"), text)
        #expect(result.isWhole || result.errors.contains("could be printed"), text)
        guard let id = result.id else { continue }
        // Removed jobs have been over, and are not in the list any more.
        #expect(id <= queue.nextID - 1, text)
        if result.reports, result.code < 124, result.code != 1 {
          #expect(record.codes[id]?.contains(result.code) == true, text)
        }
      }
    }
  }

  extension Command {
    fileprivate var isShell: Bool { if case .shell = self { true } else { false } }
  }

  /// What the jobs have recorded.
  struct StormRecord {
    var starts: [JobID: Int] = [:]
    /// The exit codes of a job's attempts that ended by themselves, in their order.
    var codes: [JobID: [Int32]] = [:]
    var overlaps: [Substring] = []

    init(_ text: String) {
      for line in text.split(separator: "\n") {
        let words = line.split(separator: " ")
        let id = Int(words[1]) ?? 0
        switch words[0] {
        case "start": starts[id, default: 0] += 1
        case "end": codes[id, default: []].append(Int32(words[2]) ?? -1)
        default: overlaps.append(line)
        }
      }
    }
  }

  /// Gives random commands, one after another.
  ///
  /// `@unchecked`: used by one thread at a time, for whose end the test waits.
  final class StormClient: @unchecked Sendable {
    struct Result: CustomStringConvertible {
      var words: [String]
      var code: Int32
      var errors: String
      /// The job that it added or waited for.
      var id: JobID?
      /// Whether its exit code is that of the job.
      var reports = false
      /// False if it reports the success of a job, and has not printed all of its output.
      var isWhole = true

      var description: String {
        "\(words.joined(separator: " ")) => \(code) \(errors.debugDescription)"
      }
    }

    /// Commands that add, wait and resume more than once, so that there is work all the time.
    private static let commands = """
      add JOB, add JOB, add --first JOB, add --if-ok JOB, add --after ID JOB, add --retries 1 JOB, add --tty JOB, \
      add --timeout 1s JOB, add -n label JOB, add --key ID JOB, add --unique JOB, add -f -, add -f -, add -i - JOB, \
      run JOB, run JOB, run JOB, run -f -, run -f -, run, wait, wait ID, wait ID, wait ID, wait label, log -f ID, log -f, log ID, \
      list, list --json, status, status --json, show ID, show --json ID, queues, report, help, completion bash, \
      cancel ID, cancel --running, retry ID, retry --failed, ack ID, ack --all, move ID --first, edit ID, \
      clean, clean --failed --keep 50, set, set keep 200, set on-failure continue, \
      start, start --all, pause, pause --now, resume, resume, resume, resume --all, resume
      """.split(separator: ", ").map(String.init)

    static let signals = [SIGKILL, SIGTERM, SIGINT, SIGHUP]

    private(set) var results: [Result] = []
    private(set) var fault: (any Error)?
    private var random: SeededGenerator
    private let scene: Scene
    private let number: Int
    private let end: Int64
    private var ids: [JobID] = [1]

    init(_ scene: Scene, number: Int, seed: SeededGenerator, _ end: Int64) throws {
      (self.scene, self.number, self.end, random) = (scene, number, end, seed)
      for _ in 0..<number { random = SeededGenerator(seed: random.next()) }
      _ = try FileSystem.makeFolder(scene.path("client-\(number)"))
    }

    func work() {
      defer { try? write([], to: done(number)) }
      do { while Clock.monotonic() < end { results.append(try command()) } } catch { fault = error }
    }

    /// Exists when this client gives no more commands.
    private func done(_ number: Int) -> Bytes { scene.path("done-\(number)") }

    /// Kills runners and jobs, and takes their descriptors away for a moment.
    func destroy() {
      while Clock.monotonic() < end {
        // The moment is under test.
        usleep(.random(in: 0...300_000, using: &random))
        let signal = one(Self.signals)
        switch Int.random(in: 0..<5, using: &random) {
        // All clients may follow a queue that one of them has paused.
        case 4: _ = try? scene.serialq("resume")
        case 0: if let pid = try? scene.runner() { kill(pid, signal) }
        case 1:
          if let pid = try? scene.processes().randomElement(using: &random) {
            // A job ends with its first process; one that it left behind would be beside the next.
            kill(getpgid(pid) == pid ? -pid : pid, signal)
          }
        default:
          guard let pid = try? scene.runner() else { continue }
          scene.limitDescriptors(of: pid, to: .random(in: 0...64, using: &random))
          usleep(.random(in: 0...200_000, using: &random))
          scene.limitDescriptors(of: pid, to: 1_024)
        }
      }
      while !(0..<8).allSatisfy({ (try? FileSystem.status(of: done($0))) != nil }) {
        _ = try? scene.serialq("resume")
      }
    }

    private func one<T>(_ values: [T]) -> T {
      values[Int.random(in: 0..<values.count, using: &random)]
    }

    private func command() throws -> Result {
      let name = "\(number).\(results.count)"
      let job = [
        "./job", "0.0\(Int.random(in: 0...5, using: &random))", one(["0", "0", "0", "3"]), name,
      ]
      let id = "\(one(ids))"
      let words = one(Self.commands).split(separator: " ").flatMap { word in
        word == "JOB" ? job : [word == "ID" ? id : String(word)]
      }
      let program = try LaunchedProgram(
        [scene.programs.appending(path: Bytes("serialq"))] + words.map { Bytes($0.utf8) },
        options(job),
        files: scene.path("client-\(number)"), number: number)
      // Not a command that has ended: a waiting one is not left to wait through the whole storm.
      let blocks = ["wait", "run", "log"].contains(words[0])
      if Int.random(in: 0..<(blocks ? 3 : 8), using: &random) == 0 {
        usleep(.random(in: 0...(blocks ? 500_000 : 5_000), using: &random))
        program.send(one(Self.signals))
      } else if blocks {
        // Behind the runner, if that is another process.
        program.send(SIGSTOP)
        usleep(.random(in: 0...300_000, using: &random))
        program.send(SIGCONT)
      }
      let outcome = try program.wait()
      var result = Result(
        words: words, code: outcome.code, errors: outcome.errorText)
      switch words[0] {
      case "add" where outcome.code == 0:
        result.id = JobID(outcome.text.prefix { $0.isNumber })
        if let id = result.id { ids = ids.suffix(5) + [id] }
      case "wait" where words.count > 1:
        result.id = outcome.code == 125 ? nil : JobID(words[1])
        result.reports = true
      case "run" where words.count > 1 && outcome.code == 0:
        result.isWhole = outcome.text.contains((1...300).map { "\(name) \($0)\n" }.joined())
      default: break
      }
      return result
    }

    private func options(_ job: [String]) -> LaunchOptions {
      var options = scene.launchOptions
      options.environment.append(Bytes("EDITOR=true".utf8))
      options.input = Bytes((job.joined(separator: " ") + "\n").utf8)
      return options
    }
  }
#endif

#if os(Linux)
  @testable import SerialqQueue
  import SerialqSystem
  import TestSupport
  import Testing

  /// Denies the runner a file while a follower has yet to print what the runner removes and cuts.
  @Suite(.needs(.cc), .ifFaultsCanBeMade)
  struct UnreadLogFaultTests {
    // Fails if logs count as printed when the locks of followers cannot be opened: let `isUnknown`
    // be false in `UnreadLogs`.
    @Test("whichever file cannot be opened, no log that a follower has yet to print is lost")
    func everyOpen() throws {
      let bench = try FaultBench()
      for words in [["keep", "1"], ["log-limit", "1K"]] {
        #expect(try bench.scene.serialq(["set"] + words).code == 0)
      }
      let folder = try bench.scene.queueFolder()
      let follower = try UnreadLogs(retaining: [1...Int.max], in: folder)
      let text = Bytes((1...1_000).map { "\($0)\n" }.joined().utf8)
      func isWhole(_ id: JobID) throws -> Bool {
        try [folder.log(id), folder.keptLog(id, 1)].contains { path in
          try FileDescriptor.openIfThere(path, .read)?.readAll() == text
        }
      }
      func run(_ fault: Fault?) throws -> Outcome {
        #expect(try bench.scene.serialq("add", "--no-start", "-c", "seq 1000").code == 0)
        return try bench.run(["run"], fault: fault)
      }
      #expect(try run(nil).code == 0)
      _ = try bench.takeLog()
      #expect(try run(nil).code == 0)
      let calls = try bench.calls().filter { $0.kinds.contains(Fault.Kind(number: Int(EMFILE))) }
      #expect(calls.count > 10)
      var whole: JobID?
      for call in calls {
        let fault = Fault(at: call.number, kind: Fault.Kind(number: Int(EMFILE)))
        let outcome = try run(fault)
        let queue = try bench.scene.queue()
        let id = queue.nextID - 1
        let place: Comment = "\(fault) (\(call.name)): \(outcome.errorText)"
        // Removed now.
        if let whole { #expect(try isWhole(whole), place) }
        whole = queue.job(id)?.state == .succeeded ? id : nil
        // Cut now.
        if let whole { #expect(try isWhole(whole), place) }
      }
      withExtendedLifetime(follower) {}
    }
  }
#endif

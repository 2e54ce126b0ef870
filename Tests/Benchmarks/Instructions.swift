import Foundation
import SerialPromises

/// The instruction count of an operation, from callgrind: the same in every run, so a change of one
/// percent is visible.
enum Instructions {
  /// The only work of the process, repeated a given number of times.
  enum Work: String, CaseIterable {
    case step = "a step, added and run"
    case stepElsewhere = "a step that ends on another thread"
    case link = "a link, created and passed"
    case promiseStep = "a promise as a step"
    case turn = "a turn"
    case run = "a run, awaited"
    case enqueue = "an enqueue, awaited"
    case task = "a continuation in a task"

    func run(_ count: Int) {
      switch self {
      case .step:
        _ = PromiseManager().time(count, isHeldBack: true) { $0.add(count, counting: $1) }
      case .stepElsewhere:
        let manager = PromiseManager()
        let other = DispatchQueue(label: "serialq.benchmarks")
        manager.pause()
        for _ in 0..<count { manager.add { then in other.async { then() } } }
        manager.resume()
        try? manager.waitUntilIdle()
      case .link: passThroughChain(count)
      case .promiseStep: _ = promiseSteps(count)
      case .turn:
        let manager = PromiseManager()
        waiting { for number in 0..<count { _ = try? await manager.withTurn { number } } }
      case .run:
        let manager = PromiseManager()
        waiting { for number in 0..<count { _ = try? await manager.run { number } } }
      case .enqueue:
        let manager = PromiseManager()
        waiting { for number in 0..<count { _ = try? await manager.enqueue { number }.value } }
      case .task: waiting { await continueInTasks(count) }
      }
    }
  }

  /// The option that runs one kind of work.
  static let option = "--run"

  static func contest(_ serialq: Queuer?) -> Contest? {
    guard let valgrind = Program.find("valgrind") else { return nil }
    let own = CommandLine.arguments[0]
    var subjects = Work.allCases.map { work in
      Subject(name: work.rawValue) {
        let few = count(valgrind, own, [option, work.rawValue, "10000"])
        return (count(valgrind, own, [option, work.rawValue, "20000"]) - few) / 10_000
      }
    }
    if let serialq {
      for words in [["--version"], ["add", "--no-start", "true"]] {
        subjects.append(
          Subject(name: "serialq " + words.joined(separator: " ")) {
            let scratch = Scratch()
            defer { scratch.remove() }
            // The first call creates the folders, and stores the environment.
            serialq.call(words, in: scratch).run()
            return count(valgrind, serialq.path, words, serialq.environment(scratch))
          })
      }
    }
    return Contest(
      title: "instructions, by callgrind", unit: "call", measure: "instructions",
      subjects: subjects, against: Work.step.rawValue, atMost: 1)
  }

  private static func count(
    _ valgrind: String, _ program: String, _ words: [String], _ environment: [String: String] = [:]
  ) -> Double {
    let options = ["--tool=callgrind", "--callgrind-out-file=/dev/null", program]
    let text = Program.messages(of: valgrind, options + words, environment)
    let line = text.split(separator: "\n").first { $0.contains("Collected :") }
    return line?.split(separator: " ").last.flatMap { Double($0) } ?? .nan
  }
}

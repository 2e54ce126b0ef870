import Foundation
import SerialPromises

/// How many instructions something takes, as callgrind counts them: the same in every run, so that a
/// change of one in a hundred can be seen.
enum Instructions {
  /// The option by which the program runs so many steps, and nothing else.
  static let option = "--run-steps"

  static func contest(_ serialq: Queuer?) -> Contest? {
    guard let valgrind = Program.find("valgrind") else { return nil }
    var subjects = [
      Subject(name: "a step, added and run") {
        let own = CommandLine.arguments[0]
        let few = count(valgrind, own, [option, "10000"])
        return (count(valgrind, own, [option, "20000"]) - few) / 10_000
      }
    ]
    if let serialq {
      for words in [["--version"], ["add", "--no-start", "true"]] {
        subjects.append(
          Subject(name: "serialq " + words.joined(separator: " ")) {
            let scratch = Scratch()
            defer { scratch.remove() }
            // The first makes the folders, and keeps the environment.
            serialq.call(words, in: scratch).run()
            return count(valgrind, serialq.path, words, serialq.environment(scratch))
          })
      }
    }
    return Contest(
      title: "instructions, by callgrind", unit: "call", measure: "instructions",
      subjects: subjects, against: "a step, added and run", atMost: 1)
  }

  private static func count(
    _ valgrind: String, _ program: String, _ words: [String], _ environment: [String: String] = [:]
  ) -> Double {
    let options = ["--tool=callgrind", "--callgrind-out-file=/dev/null", program]
    let text = Program.messages(of: valgrind, options + words, environment)
    let line = text.split(separator: "\n").first { $0.contains("Collected :") }
    return line?.split(separator: " ").last.flatMap { Double($0) } ?? .nan
  }

  static func run(steps: Int) {
    let manager = PromiseManager()
    let tally = Tally()
    manager.pause()
    for number in 0..<steps {
      manager.add { then in
        tally.add(number)
        then()
      }
    }
    manager.resume()
    precondition(tally.count == steps)
  }
}

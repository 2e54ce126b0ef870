import Foundation

/// Measurements in a separate process.
///
/// In one process, the same loop over the same queue takes up to four times as long after an
/// `OperationQueue`: in the processor, not in the kernel, and without a page fault.
enum Isolated {
  /// The option that measures one subject of one contest and prints only the figure.
  static let option = "--measure"

  static func measure(_ subject: Subject, of contest: Contest) -> Double {
    let size = CommandLine.arguments.filter { $0 == "--short" }
    return figure([option, contest.title, subject.name] + size)
  }

  /// The figure that this program prints with these arguments.
  static func figure(_ arguments: [String]) -> Double {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: CommandLine.arguments[0])
    process.arguments = arguments
    let pipe = Pipe()
    process.standardOutput = pipe
    guard (try? process.run()) != nil else { return .nan }
    let text = String(decoding: pipe.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    return Double(text.trimmingCharacters(in: .whitespacesAndNewlines)) ?? .nan
  }

  /// Prints the figure of a subject, measured in this process.
  static func answer(_ title: String, _ name: String, among contests: [Contest]) {
    let contest = contests.first { $0.title == title }
    guard let subject = contest?.subjects.first(where: { $0.name == name }) else { return }
    // The first run includes the cost of creating threads and allocating memory.
    _ = subject.measure()
    print(subject.measure())
  }
}

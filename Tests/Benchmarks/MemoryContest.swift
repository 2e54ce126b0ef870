import Dispatch
import Foundation
import SerialPromises

/// Holds waiting steps.
///
/// Each kind is measured in a separate process, by the growth of the process. Otherwise memory
/// freed by an earlier measurement would be reused and not counted.
enum WaitingSteps: String, CaseIterable {
  case closures = "the closures alone"
  case floor
  case manager = "PromiseManager"
  case dispatchQueue = "DispatchQueue"
  case operationQueue = "OperationQueue"
  case promise = "a link of a Promise chain"

  /// The option that measures one kind and prints only the figure.
  static let option = "--waiting-bytes"

  static func contest(_ n: Int) -> Contest? {
    guard residentBytes() != nil else { return nil }
    return Contest(
      title: "\(n) waiting steps", unit: "step", measure: "bytes",
      subjects: allCases.map { kind in
        Subject(name: kind.rawValue) { Isolated.figure([option, kind.rawValue, "\(n)"]) }
      }, against: "DispatchQueue",
      targets: [
        .of(manager.rawValue, atMost: 80, over: closures.rawValue),
        .of(promise.rawValue, atMost: 300),
      ])
  }

  /// Bytes for each of `n` steps.
  func measure(_ n: Int) -> Double {
    let tally = Tally()
    let before = WaitingSteps.residentBytes() ?? 0
    // Never released, because Dispatch traps when a suspended queue is released.
    _ = Unmanaged.passRetained(fill(n, tally))
    let after = WaitingSteps.residentBytes() ?? 0
    return Double(after - before) / Double(n)
  }

  private func fill(_ n: Int, _ tally: Tally) -> AnyObject {
    switch self {
    case .closures:
      let closures = UnsafeMutablePointer<Floor.Wrapped>.allocate(capacity: n)
      for number in 0..<n {
        (closures + number).initialize(to: Floor.Wrapped { tally.add(number) })
      }
      return tally
    case .floor:
      let floor = Floor()
      floor.add(n, counting: tally)
      return floor
    case .manager: return held(PromiseManager(), n, tally)
    case .dispatchQueue: return held(DispatchQueue(label: "serial"), n, tally)
    case .operationQueue: return held(SerialOperations(), n, tally)
    case .promise:
      let deferred = Deferred<Int>()
      var last = deferred.promise
      for number in 0..<n {
        last = last.map { value in
          tally.add(number)
          return value
        }
      }
      return deferred
    }
  }

  private func held(_ queue: some SerialQueue, _ n: Int, _ tally: Tally) -> AnyObject {
    queue.pause()
    queue.add(n, counting: tally)
    return queue
  }

  /// The resident memory of the process; nil if the system has no `/proc`.
  private static func residentBytes() -> Int? {
    let fields = try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8)
    let pages = fields?.split(separator: " ").dropFirst().first.flatMap { Int($0) }
    return pages.map { $0 * Int(getpagesize()) }
  }
}

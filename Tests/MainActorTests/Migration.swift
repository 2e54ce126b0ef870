import SerialPromises
import Testing

/// An importer that used an `OperationQueue` with one operation at a time.
final class Importer {
  struct Empty: Error {}

  private let manager = PromiseManager()
  private(set) var log: [String] = []

  func run(_ files: [String]) async {
    // queue.addOperation { … }
    for file in files {
      manager.add { then in
        self.log.append(file)
        then()
      }
    }
    // An operation that depends on the others, and operations that pass on a result
    manager.add(sum())
    // queue.waitUntilAllOperationsAreFinished()
    await manager.idle()
  }

  private func sum() -> Promise<Void> {
    Promise { self.log.count }
      .map { count in self.log.append("sum of \(count)") }
      .then { self.save() }
      .catch { error in self.log.append("\(error)") }
  }

  private func save() -> Promise<Void> {
    Promise {
      MainActor.preconditionIsolated()
      guard self.log.count > 1 else { throw Empty() }
      self.log.append("saved")
    }
  }
}

struct MigrationTests {
  // Fails if a handler is called in another order, or `idle` returns before the last one.
  @Test("steps and chains take the place of operations")
  func importer() async {
    let (full, empty) = (Importer(), Importer())
    await full.run(["a", "b"])
    await empty.run([])
    #expect(full.log == ["a", "b", "sum of 2", "saved"])
    #expect(empty.log == ["sum of 0", "Empty()"])
  }
}

import Foundation
import Testing

@testable import SerialPromises

/// When the next piece of work begins: a comparison of the manager with its alternatives.
struct WhichOneToTake {
  private let log = Log<String>()
  private let first = Gate()
  private let second = Gate()

  private func show(_ text: String) {
    log.append(text)
    if text == "first ends" { first.open() } else { second.open() }
  }

  /// Work that ends with a callback on another thread.
  private func transfer(_ completion: @escaping @Sendable () -> Void) {
    onOwnThread(completion)
  }

  /// Work that ends only when the second piece has begun.
  private func longTransfer(_ completion: @escaping @Sendable () -> Void) {
    onOwnThread {
      second.block()
      completion()
    }
  }

  // Hangs if a serial queue waits for asynchronous work that a closure has begun.
  @Test("a serial queue begins the next closure while the work of the first continues")
  func dispatchQueue() async {
    let transfer = longTransfer
    let queue = DispatchQueue(label: "serial")
    queue.async { transfer { show("first ends") } }
    queue.async { show("second begins") }  // before the first has ended
    await first.passed()
    #expect(log.all == ["second begins", "first ends"])
  }

  // Hangs if an operation queue waits for asynchronous work that a block has begun.
  @Test(
    "an operation queue, one at a time, begins the next block while the work of the first continues"
  )
  func operationQueue() async {
    let queue = OperationQueue()
    queue.maxConcurrentOperationCount = 1
    queue.addOperation { longTransfer { show("first ends") } }
    queue.addOperation { show("second begins") }
    await first.passed()
    #expect(log.all == ["second begins", "first ends"])
  }

  // Fails if the second piece begins before the first has ended.
  @Test("a manager waits for the end of the work")
  func manager() async {
    let manager = PromiseManager()
    manager.add { then in
      transfer {
        show("first ends")
        then()
      }
    }
    manager.add { then in
      show("second begins")  // after the first has ended
      then()
    }
    await manager.idle()
    #expect(log.all == ["first ends", "second begins"])
  }

  // Fails if the second piece begins before the first has ended.
  @Test("a task that reads closures from a stream waits for the end of the work")
  func stream() async {
    let (stream, closures) = AsyncStream.makeStream(of: (@Sendable () async -> Void).self)
    closures.yield {
      await withCheckedContinuation { continuation in
        transfer {
          show("first ends")
          continuation.resume()
        }
      }
    }
    closures.yield { show("second begins") }
    closures.finish()
    for await closure in stream { await closure() }
    #expect(log.all == ["first ends", "second begins"])
  }
}

import TestSupport
import Testing

@testable import SerialPromises

/// `when(concurrently:)` with a sequence that can be iterated once.
struct SinglePassTests {
  // Fails if the second attempt iterates the same sequence again, which is empty by then.
  @Test(
    "a sequence that can be iterated once, and fails, does not succeed with no values",
    .shows(Promising.concurrently, Promising.retry), arguments: [false, true])
  func retry(_ isIterator: Bool) async {
    let left = Locked(1)
    let next = { @Sendable () -> Promise<Int>? in
      let number = left.withLock { left in
        left -= 1
        return left
      }
      return number < 0 ? nil : .silentFailure(Failed(number: number))
    }
    let outcome =
      isIterator
      ? await when(AnyIterator(next), concurrently: 1, isolation: nil).retry(2).outcome
      : await when(AnySequence { AnyIterator(next) }, concurrently: 1, isolation: nil).retry(2)
        .outcome
    #expect(outcome.hasPrefix("failed") && outcome.contains("Failed(number: 0)"))
  }

  // Fails if a collection is not iterated again.
  @Test("a collection is iterated again by each attempt")
  func collection() async {
    let attempts = Locked(0)
    let promises = (0..<2).lazy.map { index in
      Promise<Int>(diagnostics: .silent) { resolve, reject in
        if attempts.next() == 1 { reject(Failed()) } else { resolve(index) }
      }
    }
    #expect(await when(promises, concurrently: 1, isolation: nil).retry(2).outcome == "[0, 1]")
  }
}

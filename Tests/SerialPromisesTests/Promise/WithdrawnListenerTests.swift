import TestSupport
import Testing

@testable import SerialPromises

/// Listeners that are withdrawn while the progress of their promise is delivered.
struct WithdrawnListenerTests {
  // Fails under the thread sanitizer if `forEach` on a copy of the list reads what `remove` on another
  // thread writes: run with --sanitize=thread.
  @Test(
    "a listener may be withdrawn while another thread reports progress", .shows(Promising.callbacks)
  )
  func withdrawn() async {
    let fault = await faultInRounds(isLong ? 300 : 100 / ease) {
      let deferred = Deferred<Int>(diagnostics: .silent)
      let promises = (0..<20).map { _ in deferred.promise.map { $0 }.progressed { _ in } }
      return (deferred, promises)
    } _: { deferred, _ in
      for number in 1...50 { deferred.progress(Double(number) / 100) }
    } _: { _, promises in
      for promise in promises { promise.cancel() }
    } fault: { deferred, promises in
      let isCanceled = promises.allSatisfy { text($0.state) == "failed CancellationError()" }
      deferred.tryFulfill(1)
      return isCanceled ? nil : "a promise was not canceled"
    }
    #expect(fault == nil)
  }
}

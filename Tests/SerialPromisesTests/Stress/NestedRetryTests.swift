import TestSupport
import Testing

@testable import SerialPromises

/// Retries of retries.
struct NestedRetryTests {
  // Overflows the stack of the other process if a promise that was never started is released recursively
  // with its retries: 700 do on 512 KB.
  @Test(
    "nested retries that were never started are released with a small stack",
    .shows(Promising.stack))
  func dropped() async {
    await #expect(processExitsWith: .success) {
      endWithoutBacktrace()
      endAfter(seconds: 60)
      onThread(stackSize: 512 * 1024) {
        var last = Promise<Int>(diagnostics: .silent) { resolve, _ in resolve(1) }
        for _ in 0..<700 { last = last.retry(1) }
        withExtendedLifetime(last) {}
      }
    }
  }
}

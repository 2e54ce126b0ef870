import TestSupport
import Testing

@testable import SerialPromises

/// Retries of retries.
struct NestedRetryTests {
  // Making them takes minutes if each visits all inner ones. Overflows the stack of the other process if
  // a promise that was never started is released recursively with its retries: 700 do on 512 KB.
  @Test(
    "nested retries that were never started are released with a small stack",
    .shows(Promising.stack), arguments: [700, 20_000 / ease])
  func dropped(_ depth: Int) async {
    await #expect(processExitsWith: .success) { [depth = depth as Int] in
      endWithoutBacktrace()
      endAfter(seconds: 60)
      onThread(stackSize: 512 * 1024) {
        var last = Promise<Int>(diagnostics: .silent) { resolve, _ in resolve(1) }
        for _ in 0..<depth { last = last.retry(1) }
        withExtendedLifetime(last) {}
      }
    }
  }
}

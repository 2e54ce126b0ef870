import Dispatch
import SerialqSystem
import Testing

struct SignalListenerTests {
  // Fails if a signal is ignored that comes before Dispatch, on another thread, listens to it.
  @Test("a signal that comes as soon as the listener exists is heard")
  func atOnce() async {
    // In a process of its own, on the main thread, for which the system decides whether a signal is ignored.
    await #expect(processExitsWith: .success) {
      await MainActor.run {
        let heard = DispatchSemaphore(value: 0)
        let listener = SignalListener([SIGTERM]) { _ in heard.signal() }
        kill(getpid(), SIGTERM)
        precondition(heard.wait(timeout: .now() + .seconds(30)) == .success)
        withExtendedLifetime(listener) {}
      }
    }
  }
}

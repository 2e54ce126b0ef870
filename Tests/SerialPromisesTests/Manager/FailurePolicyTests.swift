import TestSupport
import Testing

@testable import SerialPromises

/// The effect of a failed step on the remaining steps.
struct FailurePolicyTests {
  private func run(_ policy: FailurePolicy) -> (PromiseManager, [StepHandle]) {
    let manager = PromiseManager(onFailure: policy)
    manager.pause()
    let handles = [
      manager.add { then in then() },
      manager.add { then in then(Failed(number: 2)) },
      manager.add { then in then() },
      manager.add { then in then(Failed(number: 4)) },
    ]
    manager.resumeAndWait()
    return (manager, handles)
  }

  // Fails if a failure stops the queue without a policy that says so.
  @Test(
    "continue runs the next step, and is the default",
    .shows(Managing.policies, Managing.thenFails))
  func continues() {
    let (manager, handles) = run(.continue)
    let expected = [
      "succeeded", "failed Failed(number: 2)", "succeeded", "failed Failed(number: 4)",
    ]
    #expect(handles.map { text($0.state) } == expected)
    #expect(!manager.isPaused)
    #expect(manager.failure == nil)
    #expect(PromiseManager().order.withLock { text($0.policy) } == "continue")
  }

  // Fails if `stop` loses the remaining steps or the error, or `resume` does not clear it.
  @Test(
    "stop keeps the remaining steps and the error until the manager is resumed",
    .shows(Managing.policies))
  func stops() {
    let (manager, handles) = run(.stop)
    #expect(text(handles[2].state) == "waiting")
    #expect(manager.isPaused)
    #expect(manager.waitingCount == 2)
    #expect(manager.failure as? Failed == Failed(number: 2))
    manager.resumeAndWait()
    #expect(text(handles[2].state) == "succeeded")
    #expect(manager.isPaused)
    #expect(manager.failure as? Failed == Failed(number: 4))
    manager.resumeAndWait()
    #expect(!manager.isPaused)
    #expect(manager.failure == nil)
  }

  // Fails if the remaining steps run, or a step added afterwards does not.
  @Test(
    "cancelRest cancels waiting steps, and runs steps added afterwards", .shows(Managing.policies))
  func cancelsRest() {
    let (manager, handles) = run(.cancelRest)
    let expected = ["succeeded", "failed Failed(number: 2)", "cancelled", "cancelled"]
    #expect(handles.map { text($0.state) } == expected)
    #expect(manager.waitingCount == 0)
    #expect(text(manager.add { then in then() }.state) == "succeeded")
  }

  private func text(_ policy: FailurePolicy) -> String { "\(policy)" }
  private func text(_ state: StepHandle.State) -> String { SerialPromisesTests.text(state) }
}

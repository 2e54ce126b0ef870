import TestSupport
import Testing

@testable import SerialPromises

/// The effect of a failed step on the remaining steps.
struct FailurePolicyTests {
  /// Runs four steps, of which the second and the fourth fail.
  private func run(_ manager: PromiseManager) -> [StepHandle] {
    manager.pause()
    let handles = [nil, Failed(number: 2), nil, Failed(number: 4)].map { error in
      manager.add { then in then(error) }
    }
    manager.resumeAndWait()
    return handles
  }

  // Fails if a failure stops the queue without a policy that says so, if the remaining steps run
  // although the policy cancels them, or a step added afterwards does not.
  @Test(
    "continue, the default, runs the next step; cancelRest cancels the waiting ones only",
    .shows(Managing.policies, Managing.thenFails), arguments: [nil, FailurePolicy.cancelRest])
  func runsOn(_ policy: FailurePolicy?) {
    let manager = policy.map { PromiseManager(onFailure: $0) } ?? PromiseManager()
    let rest =
      policy == nil ? ["succeeded", "failed Failed(number: 4)"] : ["cancelled", "cancelled"]
    let states = run(manager).map { text($0.state) }
    #expect(states == ["succeeded", "failed Failed(number: 2)"] + rest)
    #expect(!manager.isPaused && manager.failure == nil && manager.waitingCount == 0)
    #expect(text(manager.add { then in then() }.state) == "succeeded")
  }

  // Fails if `stop` loses the remaining steps or the error, or `resume` does not clear it.
  @Test(
    "stop keeps the remaining steps and the error until the manager is resumed",
    .shows(Managing.policies))
  func stops() {
    let manager = PromiseManager(onFailure: .stop)
    let third = run(manager)[2]
    for (state, number, waiting) in [("waiting", 2, 2), ("succeeded", 4, 0)] {
      #expect(text(third.state) == state && manager.waitingCount == waiting)
      #expect(manager.isPaused && manager.failure as? Failed == Failed(number: number))
      manager.resumeAndWait()
    }
    #expect(!manager.isPaused && manager.failure == nil)
  }
}

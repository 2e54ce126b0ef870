/// What only named, watched, parked or resumed steps have, and those whose handle is kept.
///
/// A handle holds the record and not the segment: so the outcome of a step, and the error in it, is
/// there as long as a handle of this very step exists, and is released with the last one.
final class StepRecord: @unchecked Sendable {
  // Sendable because everything that changes is touched only under `lock`, and afterwards by
  // `deinit`, when there is no other reference to the record.

  /// What guards this record: it lives as long as a handle, longer than the manager.
  let lock: Locked<SerialOrder>

  let name: String?

  /// Where the step's slot is; nil once the record is closed.
  var segment: Segment?

  /// How the step ended.
  ///
  /// Nil also for a plain step that succeeded, until the next one is added: its slot says so.
  private(set) var outcome: StepOutcome?

  var observers: [@Sendable (StepOutcome) -> Void] = []

  /// What the running step goes on with, one after another.
  var resumptions: [Resumption] = []

  /// Called when the step is canceled while it waits.
  var whenCancelled: (@Sendable () -> Void)?

  /// The adder, if it had to wait for room.
  var adder: ParkedAdder?

  /// Tells an adder that waits for room: true when there is some, false when it is not needed.
  ///
  /// Nil if none waits, or it has been told.
  var admitted: (@Sendable (_ hasRoom: Bool) -> Void)? { adder?.admitted }

  init(_ lock: Locked<SerialOrder>, name: String? = nil) {
    self.lock = lock
    self.name = name
  }

  /// Makes the record of a step that was refused.
  init(_ lock: Locked<SerialOrder>, name: String?, refused error: any Error) {
    self.lock = lock
    self.name = name
    outcome = .failed(error)
  }

  /// The step is over.
  func close(_ outcome: StepOutcome) {
    self.outcome = outcome
    segment = nil
  }

  func takeObservers() -> [@Sendable (StepOutcome) -> Void] {
    defer { observers = [] }
    return observers
  }

  /// Where step `id`, which has this record, is on its way.
  func state(of id: Int) -> StepHandle.State {
    if let outcome { return .over(outcome) }
    switch segment?.slot(id).pointee.stage {
    case .waiting: return .waiting
    case .running: return .running
    // Any other end closes the record.
    case .succeeded, .failed, .cancelled, .moved, nil: return .over(.succeeded)
    }
  }
}

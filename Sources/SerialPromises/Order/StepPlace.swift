/// A place among the waiting steps of a manager.
///
/// ```swift
/// let photo = manager.add("photo") { then in upload(file) { then($0) } }
/// manager.add("login", at: .before(photo)) { then in download { then() } }
/// photo.move(to: .first)  // now it runs before the login
/// ```
public enum StepPlace: Sendable {
  /// Before all waiting steps: next after the running step.
  ///
  /// Of several steps added at this place, the latest runs first.
  case first

  /// After all waiting steps.
  case last

  /// Directly before another step.
  ///
  /// Equivalent to ``first`` if that step does not wait in this manager: it runs, has ended, was
  /// refused or belongs to another manager.
  case before(StepHandle)

  /// In place of another step, which is canceled, if that one still waits.
  ///
  /// Both at once: no other thread finds the two steps together, or neither of them, and the other
  /// step cannot begin in between. A full manager accepts the new step, because nothing grows. If
  /// the new step is refused, the other one stays; if it is canceled or gives up waiting later, the
  /// other one does not come back. A promise that replaces itself is canceled.
  ///
  /// Equivalent to ``last`` if that step does not wait in this manager: it runs, has ended, was
  /// refused or belongs to another manager. A running step is not canceled. Moving a step to its
  /// own place has no effect.
  ///
  /// ```swift
  /// // What is typed into a search field: of the requests that wait, only the latest one matters.
  /// var latest: StepHandle?
  /// for text in ["s", "sw", "swift"] {
  ///   let page = Promise { try await load(text) }
  ///   latest = manager.add(page, at: latest.map { .replacing($0) } ?? .last)
  /// }
  /// ```
  case replacing(StepHandle)
}

extension StepPlace {
  /// The waiting step of the order that leaves when step `id` takes its place.
  ///
  /// Requires the lock.
  func replaced(by id: Int? = nil, in lock: Locked<SerialOrder>) -> StepHandle? {
    guard case .replacing(let other) = self, other.segmentOfWaiting(in: lock) != nil, other.id != id
    else { return nil }
    return other
  }
}

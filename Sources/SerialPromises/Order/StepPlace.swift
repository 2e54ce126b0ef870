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
}

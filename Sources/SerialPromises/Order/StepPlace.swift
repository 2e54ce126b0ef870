/// Where a step goes in the queue.
///
/// ```swift
/// let photo = manager.add("photo") { then in upload(file) { error in then(error) } }
/// manager.add("login", at: .before(photo)) { then in download { then() } }
/// photo.move(to: .first)  // now it runs before the login
/// ```
public enum StepPlace: Sendable {
  /// Before all that wait: next, when the running step is over.
  ///
  /// Of several steps that are put there, the latest runs first.
  case first

  /// Behind all that wait.
  case last

  /// Directly before another step.
  ///
  /// If that does not wait in this manager, because it runs, is over, was refused or belongs to
  /// another one, this is the same as ``first``.
  case before(StepHandle)
}

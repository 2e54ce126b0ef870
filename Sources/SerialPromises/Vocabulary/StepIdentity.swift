/// Identifies a step in an event or an error.
///
/// ```swift
/// func title(of step: StepIdentity) -> String {
///   step.name ?? "No. \(step.id)"
/// }
/// ```
public struct StepIdentity: Sendable, Hashable, CustomStringConvertible {
  /// The step's number in its manager, counted from 1 in the order of addition.
  ///
  /// ```swift
  /// func title(of step: StepIdentity) -> String {
  ///   step.name ?? "No. \(step.id)"
  /// }
  /// ```
  public let id: Int

  /// The name passed to `add`, or the name of the step's promise.
  ///
  /// ```swift
  /// func title(of step: StepIdentity) -> String {
  ///   step.name ?? "No. \(step.id)"
  /// }
  /// ```
  public let name: String?

  /// The name in quotes or, without a name, the number: `step "upload"`, `step 3`.
  public var description: String {
    name.map { "step \"\($0)\"" } ?? "step \(id)"
  }
}

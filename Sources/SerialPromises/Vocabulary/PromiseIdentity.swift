/// Identifies a promise in an error or a diagnostic.
///
/// ```swift
/// func title(of promise: PromiseIdentity) -> String {
///   promise.name ?? "\(promise.file):\(promise.line)"
/// }
/// ```
public struct PromiseIdentity: Sendable, Hashable, CustomStringConvertible {
  /// The name of the promise or of the first promise of its chain.
  ///
  /// ```swift
  /// func title(of promise: PromiseIdentity) -> String {
  ///   promise.name ?? "\(promise.file):\(promise.line)"
  /// }
  /// ```
  public let name: String?

  /// The module and file that created the promise or the first promise of its chain.
  ///
  /// ```swift
  /// func title(of promise: PromiseIdentity) -> String {
  ///   promise.name ?? "\(promise.file):\(promise.line)"
  /// }
  /// ```
  public let file: String

  /// The line in the file.
  ///
  /// ```swift
  /// func title(of promise: PromiseIdentity) -> String {
  ///   promise.name ?? "\(promise.file):\(promise.line)"
  /// }
  /// ```
  public let line: UInt

  /// The name or the source location: `promise "login"`, `the promise made at App/Login.swift:12`.
  public var description: String {
    name.map { "promise \"\($0)\"" } ?? "the promise made at \(file):\(line)"
  }
}

/// Which promise an error or a diagnostic speaks of.
///
/// ```swift
/// func title(of promise: PromiseIdentity) -> String {
///   promise.name ?? "\(promise.file):\(promise.line)"
/// }
/// ```
public struct PromiseIdentity: Sendable, Hashable, CustomStringConvertible {
  /// The name that the promise, or the one at the beginning of its chain, was given.
  ///
  /// ```swift
  /// func title(of promise: PromiseIdentity) -> String {
  ///   promise.name ?? "\(promise.file):\(promise.line)"
  /// }
  /// ```
  public let name: String?

  /// Where the promise, or the one at the beginning of its chain, was made: module and file.
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

  /// The name, or the place: `promise "login"`, `the promise made at App/Login.swift:12`.
  public var description: String {
    name.map { "promise \"\($0)\"" } ?? "the promise made at \(file):\(line)"
  }
}

/// Where a chain of promises begins, for messages.
final class Origin: Sendable {
  let name: String?
  private let file: StaticString
  private let line: UInt
  private let diagnostics: DiagnosticHandler?

  init(_ name: String?, _ file: StaticString, _ line: UInt, _ diagnostics: DiagnosticHandler? = nil)
  {
    self.name = name
    self.file = file
    self.line = line
    self.diagnostics = diagnostics
  }

  var identity: PromiseIdentity {
    PromiseIdentity(name: name, file: file.description, line: line)
  }

  func report(_ diagnostic: Diagnostic) {
    (diagnostics ?? .shared).report(diagnostic)
  }
}

/// An error that contains other errors, nested to any depth.
protocol NestedError: Error {
  /// The contained errors.
  var causes: ErrorList { get }

  /// The parts of the description, in order: texts and errors.
  var parts: [Any] { get }
}

extension NestedError {
  /// The concatenation of all parts.
  ///
  /// Iterative, because errors may be nested to any depth.
  var joinedParts: String {
    var text = ""
    var rest: [Any] = parts.reversed()
    while let part = rest.popLast() {
      if let error = part as? any NestedError {
        rest += error.parts.reversed()
      } else {
        text += "\(part)"
      }
    }
    return text
  }
}

/// The errors that another error contains.
///
/// Releases errors of any depth without recursion.
final class ErrorList: Sendable {
  private let list: Locked<[any Error]>

  init(_ errors: [any Error]) {
    list = Locked(errors)
  }

  deinit {
    NestedObjects(takeCauses()).release { $0.takeCauses() }
  }

  var errors: [any Error] { list.withLock { $0 } }

  private func takeCauses() -> [ErrorList] {
    let errors = errors
    list.withLock { $0 = [] }
    return errors.compactMap { ($0 as? any NestedError)?.causes }
  }
}

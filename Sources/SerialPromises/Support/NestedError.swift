/// An error that contains other errors, nested to any depth.
protocol NestedError: Error {
  /// The contained errors.
  var causes: ErrorList { get }

  /// The parts of the description, in order.
  var parts: [NestedErrorPart] { get }
}

/// A part of the description of a nested error.
enum NestedErrorPart {
  case text(String)
  case error(any Error)
}

extension NestedError {
  /// The concatenation of all parts.
  ///
  /// Iterative, because errors may be nested to any depth.
  var joinedParts: String {
    var text = ""
    var rest = Array(parts.reversed())
    while let part = rest.popLast() {
      switch part {
      case .text(let more): text += more
      case .error(let error as any NestedError): rest += error.parts.reversed()
      case .error(let error): text += "\(error)"
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
    Parts(takeCauses()).release { $0.takeCauses() }
  }

  var errors: [any Error] { list.withLock { $0 } }

  private func takeCauses() -> [ErrorList] {
    let errors = errors
    list.withLock { $0 = [] }
    return errors.compactMap { ($0 as? any NestedError)?.causes }
  }
}

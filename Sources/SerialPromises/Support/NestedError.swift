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
///
/// Sendable because it is mutated only in `deinit`.
final class ErrorList: @unchecked Sendable {
  private(set) var errors: [any Error]

  init(_ errors: [any Error]) {
    self.errors = errors
  }

  deinit {
    // Iterative: takes uniquely referenced errors apart before their release.
    while !errors.isEmpty {
      guard var causes = Self.causes(of: errors.removeLast()),
        isKnownUniquelyReferenced(&causes)
      else { continue }
      errors += causes.errors
      causes.errors = []
    }
  }

  private static func causes(of error: any Error) -> ErrorList? {
    (error as? any NestedError)?.causes
  }
}

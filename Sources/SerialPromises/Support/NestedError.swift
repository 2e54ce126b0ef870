/// An error that holds other errors, which may hold others, to any depth.
protocol NestedError: Error {
  /// The errors that it holds.
  var causes: ErrorList { get }

  /// What the description is made of, in its order.
  var parts: [NestedErrorPart] { get }
}

/// A part of a nested error's description.
enum NestedErrorPart {
  case text(String)
  case error(any Error)
}

extension NestedError {
  /// The parts, one after another.
  ///
  /// A list instead of recursion, because errors may be nested to any depth.
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

/// Errors that another error holds: releases errors that are nested to any depth.
///
/// Sendable because it changes only when the last reference to it goes away.
final class ErrorList: @unchecked Sendable {
  private(set) var errors: [any Error]

  init(_ errors: [any Error]) {
    self.errors = errors
  }

  deinit {
    // A list instead of recursion: what is not shared is taken apart before it is released.
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

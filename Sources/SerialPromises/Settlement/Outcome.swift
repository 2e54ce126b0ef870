/// The type-erased outcome of a promise.
///
/// The implementation of promises is not generic: the metadata lookup of a generic class for each
/// link of a chain costs more than everything else in a link. The generic public API wraps and
/// unwraps the values.
@usableFromInline
enum Outcome: Sendable {
  case value(any Sendable)
  case failure(any Error)

  init<Value: Sendable>(_ result: Result<Value, any Error>) {
    switch result {
    case .success(let value): self = .value(value)
    case .failure(let error): self = .failure(error)
    }
  }

  /// Returns the value or throws the error.
  @inlinable
  func get<Value: Sendable>(as type: Value.Type = Value.self) throws -> Value {
    switch self {
    case .failure(let error): throw error
    case .value(let value): return Self.unwrap(value)
    }
  }

  /// - Returns: The value, which must have this type.
  @inlinable
  static func unwrap<Kept: Sendable, Value: Sendable>(_ value: Kept) -> Value {
    // Much faster than a cast, which would compare the types as well. The types are identical, so
    // this is a copy.
    guard Kept.self == Value.self else { return cast(value) }
    return withUnsafePointer(to: value) { UnsafeRawPointer($0).load(as: Value.self) }
  }

  // Separate function, because the metadata of an optional value is looked up even without a cast.
  @usableFromInline
  @inline(never)
  static func cast<Kept: Sendable, Value: Sendable>(_ value: Kept) -> Value {
    guard let value = value as? Value else {
      preconditionFailure("a promise of \(Value.self) holds a \(Kept.self)")
    }
    return value
  }

  func result<Value: Sendable>(of type: Value.Type = Value.self) -> Result<Value, any Error> {
    Result { try get() }
  }
}

/// The result of a handler.
@usableFromInline
enum Decision: Sendable {
  case value(any Sendable)
  /// A promise that provides the outcome.
  case promise(AnyPromise)

  /// The outcome itself.
  static func passOn(_ outcome: Outcome) throws -> Decision {
    switch outcome {
    case .value(let value): .value(value)
    case .failure(let error): throw error
    }
  }
}

/// How a promise ended, whatever its type.
///
/// The mechanism behind promises does not know their types: looking up the metadata of a generic
/// class, as it would for each link of a chain, costs more than all the rest of a link. The faces
/// know them, and put in and take out.
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

  /// The value, or throws the error.
  @inlinable
  func get<Value: Sendable>(as type: Value.Type = Value.self) throws -> Value {
    switch self {
    case .failure(let error): throw error
    case .value(let value): return Self.unwrap(value)
    }
  }

  /// - Returns: The value, which is of this type.
  @inlinable
  static func unwrap<Kept: Sendable, Value: Sendable>(_ value: Kept) -> Value {
    // Faster by far than a cast, which would find out the same. The types are one, so this is no
    // more than a copy.
    guard Kept.self == Value.self else { return cast(value) }
    return withUnsafePointer(to: value) { UnsafeRawPointer($0).load(as: Value.self) }
  }

  // On its own, because the metadata of an optional value is looked up even where no cast is made.
  @usableFromInline
  @inline(never)
  static func cast<Kept: Sendable, Value: Sendable>(_ value: Kept) -> Value {
    guard let value = value as? Value else {
      preconditionFailure("a promise of \(Value.self) holds a \(Kept.self)")
    }
    return value
  }

  /// The value as it is kept, or throws the error.
  func passOn() throws -> any Sendable {
    switch self {
    case .value(let value): value
    case .failure(let error): throw error
    }
  }

  /// Resumes a task that waits for the value.
  func resume<Value: Sendable>(_ continuation: UnsafeContinuation<Value, any Error>) {
    do { continuation.resume(returning: try get()) } catch { continuation.resume(throwing: error) }
  }

  func result<Value: Sendable>(of type: Value.Type = Value.self) -> Result<Value, any Error> {
    Result { try get() }
  }
}

/// What a handler made of an outcome.
@usableFromInline
enum Decision: Sendable {
  case value(any Sendable)
  /// The outcome of this promise.
  case promise(AnyPromise)

  /// The outcome itself.
  static func passOn(_ outcome: Outcome) throws -> Decision {
    .value(try outcome.passOn())
  }
}

/// A promise whose type is not known.
@usableFromInline
struct AnyPromise: Sendable {
  let core: Core

  /// Nil for a promise whose work has begun.
  let lifeline: Lifeline?
}

/// A promise, whatever its type.
protocol PromiseOfAnyType {
  var erased: AnyPromise { get }
}

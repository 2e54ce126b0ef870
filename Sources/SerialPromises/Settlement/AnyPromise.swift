/// A type-erased promise.
@usableFromInline
struct AnyPromise: Sendable {
  let core: Core

  /// Nil for a promise whose work has started.
  let lifeline: Lifeline?
}

/// A promise of any type.
protocol PromiseOfAnyType {
  var erased: AnyPromise { get }
}

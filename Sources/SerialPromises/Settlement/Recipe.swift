/// The work of a cold promise.
///
/// Of a class: any other existential is copied by way of its metadata, several times at each start.
protocol Recipe: AnyObject, Sendable {
  /// Whether the work registers a cancel handler in any case.
  var isCancellable: Bool { get }

  /// Starts the work of a demanded promise.
  func start(_ core: Core)

  /// Creates a cold promise with the same work; nil if a copy would not do it again.
  var copy: (@Sendable (Core.Traits) -> AnyPromise)? { get }
}

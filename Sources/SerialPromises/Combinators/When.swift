/// The error of `when` if one of its promises fails.
///
/// ```swift
/// when(urls.map { url in fetch(url) }).catch { error in
///   guard let failure = error as? WhenError<Int> else { throw error }
///   show("\(urls[failure.position]): \(failure.underlying)")
/// }
/// ```
public struct WhenError<Position: Hashable & Sendable>: Error, CustomStringConvertible {
  /// The zero-based index of the failed promise, or its key.
  ///
  /// ```swift
  /// when(urls.map { url in fetch(url) }).catch { error in
  ///   guard let failure = error as? WhenError<Int> else { throw error }
  ///   show("\(urls[failure.position]): \(failure.underlying)")
  /// }
  /// ```
  public let position: Position

  /// The error of the failed promise.
  ///
  /// ```swift
  /// when(urls.map { url in fetch(url) }).catch { error in
  ///   guard let failure = error as? WhenError<Int> else { throw error }
  ///   show("\(urls[failure.position]): \(failure.underlying)")
  /// }
  /// ```
  public var underlying: any Error { causes.errors[0] }

  let causes: ErrorList

  init(position: Position, underlying: any Error) {
    self.position = position
    causes = ErrorList([underlying])
  }

  /// The position of the failed promise and its error.
  public var description: String { joinedParts }
}

extension WhenError: NestedError {
  var parts: [Any] {
    ["the promise at \(position) failed: ", underlying]
  }
}

/// Waits until all promises are fulfilled.
///
/// ```swift
/// let people = when(ids.map { fetchPerson($0) })
/// ```
///
/// If one fails, the others continue, and the result no longer depends on them.
///
/// - Parameters:
///   - promises: The inputs. Cold promises start together when the result is demanded.
///   - file: The source location, for diagnostics.
///   - line: The source location, for diagnostics.
/// - Returns: A promise of all values, in the order of the promises. If one fails, it fails with a
///   ``WhenError`` with the index. If `promises` is empty, the value is an empty array. Its
///   progress is the mean.
public func when<Value: Sendable>(
  _ promises: [Promise<Value>], file: StaticString = #fileID, line: UInt = #line
) -> Promise<[Value]> {
  when(promises, Origin("when", file, line))
}

func when<Value: Sendable>(_ promises: [Promise<Value>], _ origin: Origin) -> Promise<[Value]> {
  Promise(combining: promises.map(\.erased), .all, origin) { failed, sources in
    if let failed { throw sources[failed].failure(at: failed) }
    return try sources.map { try $0.settledOutcome.get() }
  }
}

/// Waits until all promises of a dictionary are fulfilled.
///
/// ```swift
/// let pages = try await when(["home": fetch("a"), "news": fetch("b")]).value
/// let news = pages["news"]
/// ```
///
/// - Parameters:
///   - promises: The inputs. Cold promises start together when the result is demanded.
///   - file: The source location, for diagnostics.
///   - line: The source location, for diagnostics.
/// - Returns: A promise of all values, with the keys of the promises. If one fails, it fails with a
///   ``WhenError`` with the key. Its progress is the mean.
public func when<Key: Hashable & Sendable, Value: Sendable>(
  _ promises: [Key: Promise<Value>], file: StaticString = #fileID, line: UInt = #line
) -> Promise<[Key: Value]> {
  let origin = Origin("when", file, line)
  let keys = Array(promises.keys)
  return Promise(combining: promises.values.map(\.erased), .all, origin) { failed, sources in
    if let failed { throw sources[failed].failure(at: keys[failed]) }
    return Dictionary(
      uniqueKeysWithValues: try zip(keys, sources).map { ($0, try $1.settledOutcome.get()) })
  }
}

/// Waits until all promises are fulfilled; their types may differ.
///
/// ```swift
/// let (user, settings) = try await when(fetchUser(), fetchSettings()).value
/// ```
///
/// - Parameters:
///   - promise: The inputs. Cold promises start together when the result is demanded.
///   - file: The source location, for diagnostics.
///   - line: The source location, for diagnostics.
/// - Returns: A promise of all values. If one fails, it fails with a ``WhenError`` with the index.
///   Its progress is the mean.
public func when<each Value: Sendable>(
  _ promise: repeat Promise<each Value>, file: StaticString = #fileID, line: UInt = #line
) -> Promise<(repeat each Value)> {
  var promises: [AnyPromise] = []
  for promise in repeat each promise { promises.append(promise.erased) }
  let origin = Origin("when", file, line)
  require(!promises.isEmpty, "`when` requires at least one promise")
  return Promise(combining: promises, .all, origin) { failed, sources in
    if let failed { throw sources[failed].failure(at: failed) }
    var rest = sources[...]
    return (repeat try rest.removeFirst().settledOutcome.get(as: (each Value).self))
  }
}

/// Waits until all promises are settled.
///
/// Never fails.
///
/// ```swift
/// let both = try await when(resolved: [fetch(mirror), fetch(origin)]).value
/// // The values of the successful ones.
/// let texts = both.compactMap { outcome in try? outcome.get() }
/// ```
///
/// - Parameters:
///   - promises: The inputs. Cold promises start together when the result is demanded.
///   - file: The source location, for diagnostics.
///   - line: The source location, for diagnostics.
/// - Returns: A promise of all outcomes, in the order of the promises. If `promises` is empty, the
///   value is an empty array. Its progress is the mean, in which each settled promise counts as 1.
public func when<Value: Sendable>(
  resolved promises: [Promise<Value>], file: StaticString = #fileID, line: UInt = #line
) -> Promise<[Result<Value, any Error>]> {
  let origin = Origin("when(resolved:)", file, line)
  return Promise(combining: promises.map(\.erased), .settled, origin) { _, sources in
    sources.map { source in source.settledOutcome.result() }
  }
}

extension Core {
  /// The error of a failed input, with its position.
  fileprivate func failure<Position>(at position: Position) -> WhenError<Position> {
    WhenError(position: position, underlying: failure ?? CancellationError())
  }
}

/// All of the promises of which one should have been fulfilled failed.
///
/// ```swift
/// Promise.any([fetch(mirror), fetch("missing")]).catch { error in
///   guard let failure = error as? AllFailedError else { throw error }
///   for error in failure.errors { show(error) }
/// }
/// ```
public struct AllFailedError: Error, CustomStringConvertible {
  /// Why each failed, in the order of the promises; empty if there was none.
  ///
  /// ```swift
  /// Promise.any([fetch(mirror), fetch("missing")]).catch { error in
  ///   guard let failure = error as? AllFailedError else { throw error }
  ///   for error in failure.errors { show(error) }
  /// }
  /// ```
  public var errors: [any Error] { causes.errors }

  let causes: ErrorList

  init(errors: [any Error]) {
    causes = ErrorList(errors)
  }

  /// How many failed, and why.
  public var description: String { joinedParts }
}

extension AllFailedError: NestedError {
  var parts: [NestedErrorPart] {
    guard let first = errors.first else { return [.error(PromiseError.noPromises)] }
    let rest = errors.dropFirst().flatMap { [NestedErrorPart.text("; "), .error($0)] }
    return [.text("all \(errors.count) promises failed: "), .error(first)] + rest
  }
}

extension Promise {
  /// Takes the first value.
  ///
  /// The others go on; nobody waits for them any more, and their failures are no false alarm.
  ///
  /// ```swift
  /// let page = Promise.any([fetch(mirror), fetch(origin)])
  /// ```
  ///
  /// - Parameters:
  ///   - promises: What to wait for. Cold ones are started together when the new one is demanded.
  ///   - file: Where the promise is made, for diagnostics.
  ///   - line: Where the promise is made, for diagnostics.
  /// - Returns: A promise of the value of the one that is fulfilled first. If all fail, it fails
  ///   with ``AllFailedError``; so it does for none. Its progress is the greatest.
  public static func any(
    _ promises: [Promise], file: StaticString = #fileID, line: UInt = #line
  ) -> Promise {
    let origin = Origin("any", file, line)
    guard !promises.isEmpty else {
      return Promise(hot: Core(origin: origin, .failure(AllFailedError(errors: []))))
    }
    return Promise(combining: promises.map(\.erased), .any, origin) { verdict, sources in
      switch verdict {
      case .decided(let index): return try sources[index].settledValue()
      case .complete: throw AllFailedError(errors: sources.compactMap(\.failure))
      }
    }
  }

  /// Takes the first value.
  ///
  /// As ``any(_:file:line:)`` with an array.
  ///
  /// ```swift
  /// let copy = Promise.any(fetch(mirror), fetch(origin))
  /// ```
  ///
  /// - Parameters:
  ///   - first: What to wait for.
  ///   - second: What to wait for as well.
  ///   - others: What else to wait for.
  ///   - file: Where the promise is made, for diagnostics.
  ///   - line: Where the promise is made, for diagnostics.
  /// - Returns: A promise of the value of the one that is fulfilled first.
  public static func any(
    _ first: Promise, _ second: Promise, _ others: Promise..., file: StaticString = #fileID,
    line: UInt = #line
  ) -> Promise {
    any([first, second] + others, file: file, line: line)
  }

  /// Ends as the first that ends.
  ///
  /// The others go on; nobody waits for them any more, and their failures are no false alarm.
  ///
  /// ```swift
  /// let avatar = Promise.race([fetchAvatar(of: user), .failure(TooSlow(), after: .seconds(30))])
  /// ```
  ///
  /// - Parameters:
  ///   - promises: What to wait for. Cold ones are started together when the new one is demanded.
  ///   - file: Where the promise is made, for diagnostics.
  ///   - line: Where the promise is made, for diagnostics.
  /// - Returns: A promise with the outcome of the one that is settled first. For none, it fails with
  ///   ``PromiseError/noPromises``. Its progress is the greatest.
  public static func race(
    _ promises: [Promise], file: StaticString = #fileID, line: UInt = #line
  ) -> Promise {
    let origin = Origin("race", file, line)
    guard !promises.isEmpty else {
      return Promise(hot: Core(origin: origin, .failure(PromiseError.noPromises)))
    }
    return Promise(combining: promises.map(\.erased), .race, origin) { verdict, sources in
      guard case .decided(let index) = verdict else { throw PromiseError.noPromises }
      return try sources[index].settledValue()
    }
  }

  /// Ends as the first that ends.
  ///
  /// As ``race(_:file:line:)`` with an array.
  ///
  /// ```swift
  /// let quick = Promise.race(fetchAvatar(of: user), .failure(TooSlow(), after: .seconds(30)))
  /// ```
  ///
  /// - Parameters:
  ///   - first: What to wait for.
  ///   - second: What to wait for as well.
  ///   - others: What else to wait for.
  ///   - file: Where the promise is made, for diagnostics.
  ///   - line: Where the promise is made, for diagnostics.
  /// - Returns: A promise with the outcome of the one that is settled first.
  public static func race(
    _ first: Promise, _ second: Promise, _ others: Promise..., file: StaticString = #fileID,
    line: UInt = #line
  ) -> Promise {
    race([first, second] + others, file: file, line: line)
  }
}

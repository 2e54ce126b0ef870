/// The error of `Promise.any` if all promises fail.
///
/// ```swift
/// Promise.any([fetch(mirror), fetch("missing")]).catch { error in
///   guard let failure = error as? AllFailedError else { throw error }
///   for error in failure.errors { show(error) }
/// }
/// ```
public struct AllFailedError: Error, CustomStringConvertible {
  /// The errors, in the order of the promises; empty if there were no promises.
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

  /// The number of failures and their descriptions.
  public var description: String { joinedParts }
}

extension AllFailedError: NestedError {
  var parts: [Any] {
    guard let first = errors.first else { return [PromiseError.noPromises] }
    let rest = errors.dropFirst().flatMap { ["; ", $0] as [Any] }
    return ["all \(errors.count) promises failed: ", first] + rest
  }
}

extension Promise {
  /// Waits for the first fulfilled promise.
  ///
  /// The others continue. The result no longer depends on them, and their failures count as
  /// handled. Of promises that are fulfilled when this is called, the first in the array counts.
  ///
  /// ```swift
  /// let page = Promise.any([fetch(mirror), fetch(origin)])
  /// ```
  ///
  /// - Parameters:
  ///   - promises: The inputs. Cold promises start together when the result is demanded.
  ///   - file: The source location, for diagnostics.
  ///   - line: The source location, for diagnostics.
  /// - Returns: A promise of the first value. If all fail, or `promises` is empty, it fails with
  ///   ``AllFailedError``. Its progress is the maximum.
  public static func any(
    _ promises: [Promise], file: StaticString = #fileID, line: UInt = #line
  ) -> Promise {
    let origin = Origin("any", file, line)
    return Promise(combining: promises.map(\.erased), .any, origin) { decider, sources in
      guard let decider else { throw AllFailedError(errors: sources.compactMap(\.failure)) }
      return try sources[decider].settledOutcome.get()
    }
  }

  /// Waits for the first fulfilled promise.
  ///
  /// Behaves as ``any(_:file:line:)`` with an array.
  ///
  /// ```swift
  /// let copy = Promise.any(fetch(mirror), fetch(origin))
  /// ```
  ///
  /// - Parameters:
  ///   - first: The first input.
  ///   - second: The second input.
  ///   - others: Further inputs.
  ///   - file: The source location, for diagnostics.
  ///   - line: The source location, for diagnostics.
  /// - Returns: A promise of the first value.
  public static func any(
    _ first: Promise, _ second: Promise, _ others: Promise..., file: StaticString = #fileID,
    line: UInt = #line
  ) -> Promise {
    any([first, second] + others, file: file, line: line)
  }

  /// Waits for the first settled promise.
  ///
  /// The others continue. The result no longer depends on them, and their failures count as
  /// handled. Of promises that are settled when this is called, the first in the array counts.
  ///
  /// ```swift
  /// let late = Promise<String>.failure(TooSlow(), after: .seconds(30))
  /// let avatar = Promise.race([fetchAvatar(of: user), late])
  /// ```
  ///
  /// - Parameters:
  ///   - promises: The inputs. Cold promises start together when the result is demanded.
  ///   - file: The source location, for diagnostics.
  ///   - line: The source location, for diagnostics.
  /// - Returns: A promise with the first outcome. If `promises` is empty, it fails with
  ///   ``PromiseError/noPromises``. Its progress is the maximum.
  public static func race(
    _ promises: [Promise], file: StaticString = #fileID, line: UInt = #line
  ) -> Promise {
    let origin = Origin("race", file, line)
    return Promise(combining: promises.map(\.erased), .race, origin) { decider, sources in
      guard let decider else { throw PromiseError.noPromises }
      return try sources[decider].settledOutcome.get()
    }
  }

  /// Waits for the first settled promise.
  ///
  /// Behaves as ``race(_:file:line:)`` with an array.
  ///
  /// ```swift
  /// let late = Promise<String>.failure(TooSlow(), after: .seconds(30))
  /// let quick = Promise.race(fetchAvatar(of: user), late)
  /// ```
  ///
  /// - Parameters:
  ///   - first: The first input.
  ///   - second: The second input.
  ///   - others: Further inputs.
  ///   - file: The source location, for diagnostics.
  ///   - line: The source location, for diagnostics.
  /// - Returns: A promise with the first outcome.
  public static func race(
    _ first: Promise, _ second: Promise, _ others: Promise..., file: StaticString = #fileID,
    line: UInt = #line
  ) -> Promise {
    race([first, second] + others, file: file, line: line)
  }
}

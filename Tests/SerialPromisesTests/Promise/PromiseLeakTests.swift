import Dispatch
import TestSupport
import Testing

@testable import SerialPromises

/// The references that promises release, and when.
struct PromiseLeakTests {
  /// How the promise at the end of a chain ends.
  enum Ending: String, CaseIterable, CustomTestStringConvertible {
    case fulfilled, failed, cancelled, dropped, neverStarted

    var testDescription: String { rawValue }
  }

  /// A way to make a promise from another.
  enum Word: String, CaseIterable, CustomTestStringConvertible {
    case any, race, when, dictionary, tuple, resolved, concurrently
    case join, relay, chain, serially
    case timeout, delay, retry
    case handlers, onQueue, onMain, callbacks, asynchronous, awaiting

    var testDescription: String { rawValue }

    /// Whether it settles some time after its source.
    var waits: Bool { [.delay, .join, .asynchronous].contains(self) }

    /// Whether callbacks demand the outcome of the source, even if the end is canceled.
    var hasCallbacks: Bool { [.onMain, .callbacks].contains(self) }
  }

  /// A promise, and the promises that it was made from.
  private struct Scene {
    let source: Deferred<Int>
    let promise: Promise<Void>
    let captured: Watched
    /// The end of the chain and its sources.
    let cores: [Core]
  }

  private let clock = ManualClock()

  // Fails if a link retains its handler after running it, or after a cancellation; if
  // `Combination`, or `Lifeline` for one that was never started, does not unregister from promises
  // that continue; or if an elapsed time limit retains its timer.
  @Test(
    "captures are released when a promise ends, and the rest with the last reference to it",
    .shows(Promising.noLeaks), arguments: Word.allCases, Ending.allCases)
  func releases(_ word: Word, _ ending: Ending) async {
    let never = Deferred<Int>(diagnostics: .silent)
    let (captured, cores) = await {
      let scene = scene(word, other(word, ending, never), isCold: ending == .neverStarted)
      if ending != .neverStarted {
        #expect(!scene.captured.isGone, "the captures are alive")
        await end(scene, word, ending)
      }
      let cores = scene.cores.filter { $0 !== never.promise.core }
      return (scene.captured, cores.map { Watched($0) })
    }()
    #expect(await eventually { captured.isGone }, "captured by a handler")
    _ = await eventually { cores.allSatisfy(\.isGone) }
    let kept = cores.indices.filter { !cores[$0].isGone }
    #expect(kept.isEmpty, "retained promises, counted from the end of the chain")
    #expect(await eventually { clock.sleepers == 0 }, "timers")
    withExtendedLifetime(never) {}
  }

  // Fails if the `Lifeline` of the chain retains its root after the work of the root has started,
  // or after a cancellation before that.
  @Test(
    "the first promise of a chain is released when it is settled, while the last one is retained",
    arguments: [false, true])
  func roots(isCancelled: Bool) async throws {
    let (root, last) = {
      let root = Promise { 1 }
      return (Watched(root.core), root.map { $0 + 1 })
    }()
    #expect(!root.isGone)
    if isCancelled {
      #expect(last.cancel())
    } else {
      #expect(try await last.value == 2)
    }
    #expect(await eventually { root.isGone })
    withExtendedLifetime(last) {}
  }

  // Hangs if `Settlement.invalidate` hands out its list unchanged: when the combination is settled,
  // it removes a reaction from the list that `Lifeline` is traversing.
  @Test("a cold promise that is released unstarted may end a combination that it is part of")
  func dissolving() async {
    // In another process: the result of a combination reports to the shared handler.
    await #expect(processExitsWith: .success) {
      DiagnosticHandler.shared = .silent
      var race: Promise<Int>?
      let other = {
        let deferred = Deferred<Int>(diagnostics: .silent)
        let cold = Promise<Int> { _, _ in deferred.fulfill(1) }
        race = Promise.race([cold, deferred.promise])
        return deferred.promise
      }()
      precondition(race?.core.withSources.count == 3)
      race = nil
      let outcome = await other.outcome
      precondition(outcome.hasPrefix("failed nothing is left that could settle"))
    }
  }

  /// Ends a scene, and checks whether its captures are released while all promises are alive.
  private func end(_ scene: Scene, _ word: Word, _ ending: Ending) async {
    switch ending {
    case .dropped, .neverStarted: return
    case .fulfilled:
      scene.source.fulfill(1)
      if word.waits { await clock.elapse(.seconds(1)) }
    case .failed where word == .timeout: await clock.elapse(.seconds(1))
    case .failed:
      scene.source.fail(Failed())
    case .cancelled:
      if word.waits {
        scene.source.fulfill(1)
        await clock.waitForSleeper()
      }
      #expect(scene.promise.cancel())
      // Nothing may have been pulled yet.
      if word.hasCallbacks || word == .concurrently { scene.source.promise.cancel() }
    }
    await scene.promise.waitForHandlers()
    let isGone = await eventually { scene.captured.isGone }
    #expect(isGone, "captured by a handler, while the promises are alive")
    withExtendedLifetime(scene) {}
  }

  // MARK: Scenes

  private func scene(_ word: Word, _ other: Promise<Int>, isCold: Bool) -> Scene {
    let sentinel = Sentinel()
    let source = Deferred<Int>(diagnostics: .silent)
    source.onCancel { sentinel.touch() }
    source.promise.progressed { _ in sentinel.touch() }
    let cold = Promise<Int>(diagnostics: .silent) { deferred in
      sentinel.touch()
      deferred.fulfill(1)
    }
    let hot = source.promise.tap { _ in sentinel.touch() }
    let last = made(word, isCold ? cold : hot, other, sentinel)
    // A combination with such a handler that is never started waits for its other promises.
    let promise =
      isCold ? last.map { sentinel.touch() } : last.catch { _ in sentinel.touch() }
    let cores = promise.core.withSources
    if !isCold { promise.start() }
    return Scene(source: source, promise: promise, captured: Watched(sentinel), cores: cores)
  }

  /// A promise that does not decide how the result ends.
  ///
  /// Where the source decides alone, it never ends.
  private func other(_ word: Word, _ ending: Ending, _ never: Deferred<Int>) -> Promise<Int> {
    switch (word, ending) {
    case (.any, .fulfilled), (.race, _), (.when, .failed), (.when, .dropped),
      (.any, .neverStarted), (.when, .neverStarted), (.tuple, .neverStarted):
      never.promise
    case (.any, _): .failure(Failed())
    default: .value(0)
    }
  }

  private func made(
    _ word: Word, _ source: Promise<Int>, _ other: Promise<Int>, _ sentinel: Sentinel
  ) -> Promise<Void> {
    switch word {
    case .any: return Promise.any([source, other]).map { _ in sentinel.touch() }
    case .race: return Promise.race([source, other]).map { _ in sentinel.touch() }
    case .when: return when([source, other]).map { _ in sentinel.touch() }
    case .dictionary: return when(["a": source, "b": other]).map { _ in sentinel.touch() }
    case .tuple: return when(source, other).map { _ in sentinel.touch() }
    case .resolved: return when(resolved: [source, other]).map { _ in sentinel.touch() }
    case .concurrently:
      return when([source, other].lazy.map { $0 }, concurrently: 1).map { _ in sentinel.touch() }
    case .serially: return PromiseManager().serially([source, other]).map { _ in sentinel.touch() }
    case .timeout: return source.timeout(.seconds(1), clock: clock).map { _ in sentinel.touch() }
    case .delay: return source.delay(.seconds(1), clock: clock).map { _ in sentinel.touch() }
    case .onQueue: return source.map(on: .global()) { _ in sentinel.touch() }
    case .join:
      return source.map { [clock] value in
        Promise.value(value, after: .seconds(1), clock: clock).tap { _ in sentinel.touch() }
      }.then { $0 }.map { _ in sentinel.touch() }
    case .relay:
      let target = Deferred<Int>(diagnostics: .silent)
      target.onCancel { sentinel.touch() }
      source.relay(to: target)
      return target.promise.map { _ in sentinel.touch() }
    case .chain:
      let step = { @Sendable (value: Int) in
        sentinel.touch()
        return Promise.value(value)
      }
      return SerialPromises.chain(initial: source, [step, step]).map { _ in }
    case .retry:
      let task = Promise<Int>(diagnostics: .silent) { deferred in
        sentinel.touch()
        source.relay(to: deferred)
      }
      let accepts = { @Sendable (_: any Error) in
        sentinel.touch()
        return true
      }
      return task.retry(2, if: accepts).map { _ in }
    case .onMain:
      return source.fulfilled { @MainActor _ in sentinel.touch() }
        .failed { @MainActor _ in sentinel.touch() }
        .progressed { @MainActor _ in sentinel.touch() }
        .map { @MainActor _ in sentinel.touch() }
        .finally { @MainActor in sentinel.touch() }
    case .callbacks:
      return source.fulfilled { _ in sentinel.touch() }.failed { _ in sentinel.touch() }
        .progressed { _ in sentinel.touch() }.map { _ in }
    case .asynchronous:
      return source.map { [clock] _ -> Void in
        try await clock.sleep(for: .seconds(1))
        sentinel.touch()
      }
    case .awaiting:
      return Promise<Void>(diagnostics: .silent) {
        _ = try await source.value
        sentinel.touch()
      }
    case .handlers:
      let recovered = source.then { value in
        sentinel.touch()
        return Promise.value(value)
      }.recover { _ in
        sentinel.touch()
        return 2
      }
      return recovered.tap { _ in sentinel.touch() }.finally { sentinel.touch() }.map { _ in }
    }
  }
}

extension Core {
  /// This promise and all its sources, until it is settled.
  fileprivate var withSources: [Core] {
    var found = [self]
    sources?.forEach { source, _ in found += source.withSources }
    return found
  }
}

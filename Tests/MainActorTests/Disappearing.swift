import SerialPromises
import Testing

/// Plays until it is stopped.
final class Player {
  private(set) var completion: (() -> Void)?

  func play(_ completion: @escaping () -> Void) { self.completion = completion }

  func stop() { completion = nil }
}

final class Cinema {
  let (intro, film, manager) = (Player(), Player(), PromiseManager())
  private var step: StepHandle?
  private var promise: Promise<Void>?

  func appear() {
    step = manager.add { then in
      self.intro.play { then() }
      then.onCancel {
        self.intro.stop()
        then(CancellationError())
      }
    }
    promise = Promise { deferred in
      self.film.play { deferred.fulfill(()) }
      deferred.onCancel { self.film.stop() }
    }.start()
  }

  func disappear() {
    step?.cancel()
    promise?.cancel()
  }
}

struct DisappearingTests {
  // Fails if a cancel handler is not called, or is called later.
  @Test("a model that disappears stops its step and its promise at once")
  func cinema() {
    let cinema = Cinema()
    cinema.appear()
    #expect(cinema.intro.completion != nil && cinema.film.completion != nil)
    cinema.disappear()
    #expect(cinema.intro.completion == nil && cinema.film.completion == nil)
  }
}

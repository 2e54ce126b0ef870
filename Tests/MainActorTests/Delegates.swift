import SerialPromises
import Testing

protocol CompassDelegate: AnyObject {
  func compass(_ compass: Compass, found place: String)
}

/// Reports to its delegate, later.
final class Compass {
  weak var delegate: (any CompassDelegate)?

  func search(_ name: String) {
    Task { delegate?.compass(self, found: name) }
  }
}

final class Guide: CompassDelegate {
  private let (compass, manager) = (Compass(), PromiseManager())
  private var search: Deferred<String>?

  init() { compass.delegate = self }

  func find(_ name: String) -> Promise<String> {
    let place = Promise<String> { deferred in
      self.search = deferred
      self.compass.search(name)
    }
    manager.add(place)
    return place
  }

  func compass(_ compass: Compass, found place: String) { search?.fulfill(place) }
}

struct DelegatesTests {
  // Fails if two searches overlap: the second takes the place of the first.
  @Test("a delegate ends the step that waits for it")
  func guide() async throws {
    let guide = Guide()
    let places = ["north", "east", "south"]
    #expect(try await when(places.map { guide.find($0) }).value == places)
  }
}

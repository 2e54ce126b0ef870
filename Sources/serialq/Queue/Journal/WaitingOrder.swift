import SerialqSystem

/// The waiting jobs by rank.
///
/// A job that leaves is not removed: its place is outdated, and skipped from then on. So a change
/// takes O(log n), and the next job O(1), both amortized; only an insertion between others moves
/// what is behind.
struct WaitingOrder: Sendable {
  struct Place: Sendable {
    let rank: Rank
    let id: JobID

    static func < (one: Place, other: Place) -> Bool {
      // Equal ranks: only in a file that was edited by hand.
      one.rank == other.rank ? one.id < other.id : one.rank < other.rank
    }
  }

  /// The places, behind room for more in front of them.
  private var places: [Place] = []
  private var start = 0
  private var outdated = 0

  /// From the first; some are outdated.
  var all: ArraySlice<Place> { places[start...] }

  /// The index of the first place that is not before this one.
  func index(of place: Place) -> Int {
    start + firstIndex(upTo: places.count - start) { places[start + $0] < place }
  }

  mutating func insert(_ place: Place) {
    guard let last = places.last, start < places.count else {
      places = [place]
      start = 0
      return
    }
    if last < place { return places.append(place) }
    let index = index(of: place)
    // It was here before.
    if !(place < places[index]) {
      outdated -= 1
    } else if index > start {
      places.insert(place, at: index)
    } else {
      if start == 0 {
        start = max(16, places.count)
        places.insert(contentsOf: repeatElement(place, count: start), at: 0)
      }
      start -= 1
      places[start] = place
    }
  }

  /// Removes the outdated places at both ends, and all of them when they are most.
  ///
  /// Call it after a place has become outdated.
  mutating func leave(isCurrent: (Place) -> Bool) {
    outdated += 1
    while let last = places.last, start < places.count, !isCurrent(last) {
      places.removeLast()
      outdated -= 1
    }
    while start < places.count, !isCurrent(places[start]) {
      start += 1
      outdated -= 1
    }
    if start > 16 + places.count / 2 || outdated > 16 + places.count / 2 {
      places = places[start...].filter(isCurrent)
      (start, outdated) = (0, 0)
    }
  }
}

extension WaitingOrder: Equatable {
  /// Whatever it holds: the order follows from the jobs.
  static func == (one: WaitingOrder, other: WaitingOrder) -> Bool { true }
}

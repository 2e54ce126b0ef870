import SerialqSystem

/// Suggests corrections for misspelled words.
enum Suggestion {
  /// The candidate closest to `word`, if one is close enough.
  static func closest(to word: Bytes, among candidates: [String]) -> String? {
    var best: (name: String, distance: Int)?
    for name in candidates {
      let letters = Bytes(name.utf8)
      let distance = distance(word, letters)
      guard distance <= max(1, letters.count / 3), distance < best?.distance ?? .max else {
        continue
      }
      best = (name, distance)
    }
    return best?.name
  }

  /// A question to follow what is wrong with `word`; empty if no candidate is close enough.
  static func question(about word: Bytes, among candidates: [String]) -> String {
    closest(to: word, among: candidates).map { "; did you mean \($0)?" } ?? ""
  }

  /// The edit distance with transpositions of adjacent bytes (optimal string alignment).
  ///
  /// O(a × b) time, O(b) space.
  static func distance(_ a: Bytes, _ b: Bytes) -> Int {
    var beforeLast: [Int] = []
    var last = Array(0...b.count)
    for i in a.indices {
      var row = [i + 1]
      for j in b.indices {
        let cost = a[i] == b[j] ? 0 : 1
        var least = min(last[j] + cost, last[j + 1] + 1, row[j] + 1)
        if i > 0, j > 0, a[i] == b[j - 1], a[i - 1] == b[j] {
          least = min(least, beforeLast[j - 1] + 1)
        }
        row.append(least)
      }
      (beforeLast, last) = (last, row)
    }
    return last[b.count]
  }
}

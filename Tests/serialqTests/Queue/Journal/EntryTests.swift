@testable import SerialqSystem
import TestSupport
import Testing

@testable import SerialqQueue

/// The coding of lines, and compaction: nothing is listed here that a line must keep.
@Suite struct EntryTests {
  // Fails when encoding and decoding differ in a member's name or in a limit, which would refuse
  // the whole journal from then on, or when a property is not encoded.
  @Test("Every line reads back unchanged", .shows(OnDisk.replay), arguments: 1...20)
  func roundTrip(seed: UInt64) throws {
    var random = RandomStates(seed: seed)
    for _ in 0..<300 {
      let entry = random.entry(of: random.id())
      try #require(lost(in: entry, next: JournalLine.lastNext) == [])
    }
  }

  // Fails when compaction leaves something out, or writes it before what overwrites it.
  @Test(
    "A compacted queue is the same queue, whatever lines made it", .shows(OnDisk.compaction),
    arguments: 1...(isLong ? 40 : 20))
  func compaction(seed: UInt64) throws {
    var random = RandomStates(seed: seed)
    var queue = Queue()
    for _ in 0..<200 { queue.apply(random.entry(of: random.int(1...20))) }
    let (compacted, before) = (try queue.compacted(), queue)
    #expect(compacted == before)
  }

  // Fails when a property is new and the random states never set it: the tests above would not
  // notice that it is not stored. Set it in `RandomStates`.
  @Test("The random states set every property of a line to several values")
  func everyProperty() {
    var random = RandomStates(seed: 1)
    var values = Values()
    for _ in 0..<(isLong ? 20_000 : 5_000) { values.note(random.entry(of: random.int(1...20))) }
    #expect(values.constant == [])
    // The mirror sees what is stored, in boxes too.
    let names = [
      "Details.label", "Running.pid", "Over.isAcknowledged", "Limits.after", "Hook.line",
    ]
    for name in names { #expect(values.seen[name] != nil, "\(name)") }
  }

  // Fails when a part of a line can be there twice and its members have the same names, of which a
  // JSON reader sees the last; or when a name is a text in one line and a number in another.
  @Test("Every member of a line has a name of its own, which means the same in every line")
  func names() throws {
    var random = RandomStates(seed: 2)
    var types: [Substring: Substring] = [:]
    for _ in 0..<(isLong ? 20_000 : 2_000) {
      let line = lines([random.entry(of: random.id())], next: 2, isPaused: true)[0].text
      // Quotes in a string follow a backslash.
      let members = line.matches(
        of: /[{,]"([A-Za-z]+)":([\[t"]?)/.matchingSemantics(.unicodeScalar))
      try #require(Set(members.map(\.1)).count == members.count, "\(line)")
      for member in members {
        try #require(
          types.updateValue(member.2, forKey: member.1) ?? member.2 == member.2, "\(line)")
      }
    }
  }

  /// The values that each stored property had.
  private struct Values {
    private(set) var seen: [String: Set<String>] = [:]

    /// The properties that always had the same one.
    var constant: [String] { seen.filter { $0.value.count < 2 }.map(\.key).sorted() }

    mutating func note(_ value: Any) {
      let mirror = Mirror(reflecting: value)
      for child in mirror.children {
        if mirror.displayStyle == .struct, let label = child.label {
          let name = "\(mirror.subjectType).\(label)"
          if seen[name]?.count ?? 0 < 2 { seen[name, default: []].insert("\(child.value)") }
        }
        if mirror.displayStyle != .collection { note(child.value) }
      }
    }
  }
}

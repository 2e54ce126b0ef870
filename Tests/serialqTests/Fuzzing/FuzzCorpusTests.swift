import Foundation
import SerialqSystem
import TestSupport
import Testing

@testable import SerialqQueue

/// The inputs of `Scripts/fuzz`, those of past failures included, and small mutations of them.
@Suite struct FuzzCorpusTests {
  private static func corpus(_ target: FuzzTarget) throws -> [(name: String, input: Bytes)] {
    let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
      .appendingPathComponent("../../Fuzzing/Corpus/\(target)").standardized
    return try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted().map {
      ($0, Bytes(try Data(contentsOf: folder.appendingPathComponent($0))))
    }
  }

  // Fails when an input that once caused a failure does so again, or a target has no input.
  @Test("no input of the corpus causes a fault", arguments: FuzzTarget.allCases)
  func inputs(_ target: FuzzTarget) throws {
    let corpus = try Self.corpus(target)
    #expect(!corpus.isEmpty)
    for (name, input) in corpus { #expect(target.fault(with: input) == nil, "\(name)") }
  }

  // Fails when the format of the journal changes and the corpus does not: mutations of a line that
  // is refused show little.
  @Test("the history of the corpus is read to its end")
  func history() throws {
    let corpus = try Self.corpus(.journal)
    let replayed = try Replayed(try #require(corpus.first { $0.name == "history" }).input)
    #expect(replayed.queue.jobs.map(\.id) == [3, 4, 5, 6] && replayed.damaged.isEmpty)
  }

  // Fails when a sum overflows or a range is unexpectedly empty: remove the limits from
  // `FlatObject.number`.
  @Test("no mutation of the corpus causes a fault", arguments: FuzzTarget.allCases)
  func mutations(_ target: FuzzTarget) throws {
    let inputs = try Self.corpus(target).map(\.input)
    var random = SeededGenerator(seed: 20_261_121)
    for _ in 0..<(isLong ? 100_000 : 150 / ease) {
      var input = try #require(inputs.randomElement(using: &random))
      for _ in 0..<Int.random(in: 1...4, using: &random) { mutate(&input, inputs, &random) }
      let fault = target.fault(with: input)
      #expect(fault == nil, "\(input.text)")
    }
  }

  /// Changes a byte, a number or a piece, as a bad disk, an old program or an editor could.
  private func mutate(_ input: inout Bytes, _ inputs: [Bytes], _ random: inout SeededGenerator) {
    let other = inputs.randomElement(using: &random) ?? []
    guard !input.isEmpty, !other.isEmpty else { return input += other }
    let place = Int.random(in: 0..<input.count, using: &random)
    let end = min(input.count, place + .random(in: 0...20, using: &random))
    let start = Int.random(in: 0..<other.count, using: &random)
    let piece = other[start..<min(other.count, start + .random(in: 0...60, using: &random))]
    let numbers = [
      "0", "-1", "1", "9007199254740991", "9223372036854775807", "4294967295", "0000",
      "9999", "4611686018427387903",
    ]
    switch Int.random(in: 0..<5, using: &random) {
    case 0: input[place] ^= 1 << UInt8.random(in: 0...7, using: &random)
    case 1: input.removeSubrange(place..<end)
    case 2: input.insert(contentsOf: piece, at: place)
    case 3: input.replaceSubrange(place..<end, with: piece)
    default:
      let digits = UInt8(ascii: "0")...UInt8(ascii: "9")
      let first = input[place...].firstIndex(where: digits.contains) ?? place
      let last = input[first...].firstIndex { !digits.contains($0) } ?? input.count
      let number = numbers.randomElement(using: &random) ?? ""
      input.replaceSubrange(first..<last, with: number.utf8)
    }
  }
}

/// A guarantee of the library or the program, in one sentence.
///
/// A test names those that it covers by the trait `.shows`; `.ci/shown` prints them with their
/// tests.
package protocol Guarantee: CaseIterable, RawRepresentable<String>, Sendable {
  /// The part of the library or the program that the guarantees describe.
  static var subject: String { get }
}

/// All guarantees, in the order in which `.ci/shown` prints them.
let allGuarantees: [any Guarantee.Type] = [
  OnDisk.self, Running.self, Elsewhere.self, Managing.self, Promising.self, Progressing.self,
]

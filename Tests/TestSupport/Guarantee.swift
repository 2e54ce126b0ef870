/// A promise of the library or the program: one sentence.
///
/// The table in Documentation/Guarantees.md lists the tests that show it.
package protocol Guarantee: CaseIterable, RawRepresentable<String>, Sendable {
  /// What the guarantees are about.
  static var subject: String { get }
}

/// All guarantees, in the order of the table.
let allGuarantees: [any Guarantee.Type] = [
  OnDisk.self, Running.self, Managing.self, Promising.self, Progressing.self,
]

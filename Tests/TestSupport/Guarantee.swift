/// A guarantee of the library or the program, in one sentence.
///
/// Documentation/Guarantees-table.md lists the tests of each guarantee.
package protocol Guarantee: CaseIterable, RawRepresentable<String>, Sendable {
  /// The part of the library or the program that the guarantees describe.
  static var subject: String { get }
}

/// All guarantees, in the order of the table.
let allGuarantees: [any Guarantee.Type] = [
  OnDisk.self, Running.self, Elsewhere.self, Managing.self, Promising.self, Progressing.self,
]

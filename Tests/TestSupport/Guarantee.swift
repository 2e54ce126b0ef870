/// What is promised, a sentence each; a table of tests in CONTRIBUTING.md says which of them show it.
package protocol Guarantee: CaseIterable, RawRepresentable<String>, Sendable {
  /// What the guarantees are about.
  static var subject: String { get }
}

/// All there are, in the order of the table.
let allGuarantees: [any Guarantee.Type] = [
  OnDisk.self, Running.self, Managing.self, Promising.self, Progressing.self,
]

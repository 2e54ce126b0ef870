import Foundation
import Testing

/// Texts stored in files beside the tests.
enum Snapshot {
  /// Whether they are written instead of compared.
  static let areUpdated = ProcessInfo.processInfo.environment["SERIALQ_UPDATE_SNAPSHOTS"] == "1"
  private static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
    .deletingLastPathComponent().appendingPathComponent("Snapshots")

  static func check(_ text: String, against name: String) throws {
    try check(text, in: folder.appendingPathComponent(name))
  }

  static func check(_ text: String, in file: URL) throws {
    if areUpdated { try Data(text.utf8).write(to: file) }
    #expect(try String(contentsOf: file, encoding: .utf8) == text)
  }

  /// Checks a text that contains `commands`, the part generated from all commands, exactly once.
  ///
  /// The file has a placeholder for that part. The snapshot of each command holds its texts, so
  /// that a new command changes no other snapshot.
  static func check(_ text: String, with commands: String, against name: String) throws {
    let around = text.components(separatedBy: commands)
    #expect(around.count == 2)
    try check(around.joined(separator: "[The commands: help-*.txt]\n"), against: name)
  }
}

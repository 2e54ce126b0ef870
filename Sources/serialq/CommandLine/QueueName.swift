/// Which names a queue may have: they become the names of folders.
enum QueueName {
  static let standard = "default"
  static let longest = 64

  /// What a command that is advised to somebody needs to mean this queue: ` -q video`.
  static func option(for name: String) -> String {
    name == standard ? "" : " -q \(name)"
  }

  /// Why `name` cannot name a queue, or `nil` if it can.
  static func fault(in name: Bytes) -> String? {
    guard let first = name.first else { return "a queue's name cannot be empty" }
    guard name.count <= longest else { return "a queue's name has at most \(longest) characters" }
    guard first != UInt8(ascii: "."), first != UInt8(ascii: "-") else {
      return "a queue's name cannot start with . or -"
    }
    guard name.allSatisfy(isAllowed) else {
      return "a queue's name has only letters, digits and . _ -"
    }
    return nil
  }

  /// ASCII only: what another alphabet's letters become on disk depends on the file system.
  private static func isAllowed(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "_"),
      UInt8(ascii: "-"):
      true
    default:
      false
    }
  }
}

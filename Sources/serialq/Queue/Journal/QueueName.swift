import SerialqSystem

/// The valid names of queues, which become the names of folders.
///
/// Never a hidden file, an option or a path.
package enum QueueName {
  package static let standard = "default"
  static let longest = 64

  /// The queue to use without an option; `variable` is the value of SERIALQ_QUEUE.
  ///
  /// An empty variable counts as unset.
  package static func unnamed(variable: Bytes?) -> Bytes {
    guard let variable, !variable.isEmpty else { return Bytes(standard.utf8) }
    return variable
  }

  /// The option that selects this queue of an advised command: ` -q video`.
  ///
  /// Empty only if the command means the default queue without it: a job has SERIALQ_QUEUE set, and
  /// the user may too. Other queues are always named, because a suggestion may be run in another
  /// shell.
  static func option(
    for name: String, variable: Bytes? = Machine.variable("SERIALQ_QUEUE")
  ) -> String {
    name == standard && unnamed(variable: variable) == Bytes(standard.utf8) ? "" : " -q \(name)"
  }

  /// Why `name` is not a valid queue name; `nil` if it is.
  package static func fault(in name: Bytes) -> String? {
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

  /// ASCII only: file systems normalize other characters differently.
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

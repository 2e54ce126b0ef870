import SerialqSystem

/// Which names a queue may have: they become the names of folders.
///
/// Never hidden, never an option, never a path.
package enum QueueName {
  package static let standard = "default"
  static let longest = 64

  /// The queue that is meant where no option names one; `variable` is the value of SERIALQ_QUEUE, and
  /// empty is as good as unset.
  package static func unnamed(variable: Bytes?) -> Bytes {
    guard let variable, !variable.isEmpty else { return Bytes(standard.utf8) }
    return variable
  }

  /// What a command that is advised to somebody needs to mean this queue: ` -q video`.
  ///
  /// None only if it means the standard queue without one, too: a job has SERIALQ_QUEUE set, and so may
  /// whoever reads this. Another queue is always named, because advice is read in other shells, too.
  package static func option(
    for name: String, variable: Bytes? = Machine.variable("SERIALQ_QUEUE")
  ) -> String {
    name == standard && unnamed(variable: variable) == Bytes(standard.utf8) ? "" : " -q \(name)"
  }

  /// Why `name` cannot name a queue, or `nil` if it can.
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

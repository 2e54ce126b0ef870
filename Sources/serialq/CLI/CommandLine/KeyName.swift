import SerialqSystem

/// The names of control keys on the command line: `^A`, `C-a`, `ctrl-a`, or the byte itself.
enum KeyName {
  /// The key with this name, or nil.
  static func key(_ word: Bytes) -> ControlKey? {
    if word.count == 1, let byte = word.first, byte < 0x20 { return ControlKey(byte) }
    for prefix in ["^", "C-", "c-", "ctrl-", "Ctrl-", "CTRL-"] where word.starts(with: prefix.utf8)
    {
      let sign = word.dropFirst(prefix.utf8.count)
      guard sign.count == 1, let byte = sign.first else { continue }
      let upper = (0x61...0x7A).contains(byte) ? byte ^ 0x20 : byte
      return (0x40...0x5F).contains(upper) ? ControlKey(upper) : nil
    }
    return nil
  }

  /// Why a word cannot be the key that leaves a job, or nil.
  static func fault(in word: Bytes) -> String? {
    guard let key = key(word) else { return "not a control key, such as ^A or C-a" }
    return use(of: key).map { "the job needs it: \($0)" }
  }

  /// What the key is for in nearly every program on a terminal.
  private static func use(of key: ControlKey) -> String? {
    switch UnicodeScalar(key.byte | 0x40) {
    case "[": "Escape, with which arrow and function keys begin"
    case "C": "it interrupts"
    case "D": "it ends the input"
    case "H": "Backspace on some terminals"
    case "I": "Tab"
    case "J", "M": "Enter"
    case "Q", "S": "it continues or stops the output"
    case "Z": "it suspends"
    default: nil
    }
  }
}

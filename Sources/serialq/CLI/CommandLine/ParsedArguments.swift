import SerialqQueue
import SerialqSystem

/// The arguments of a command, split into options and operands but not yet interpreted.
struct ParsedArguments {
  var command: CommandSpec
  /// In the order given.
  ///
  /// Not a dictionary: building its metadata alone takes a fifth of the instructions of an `add`.
  private var options: [Option] = []
  var operands: [Bytes] = []
  /// Whether `--` came before the last operands, and how many came before it.
  var afterDashes = false
  var operandsBeforeDashes = 0

  private struct Option {
    var name: OptionName
    /// Empty if the option has none.
    var value: Bytes
  }

  /// Splits `words`, the arguments after the command.
  init(_ command: CommandSpec, _ words: ArraySlice<Bytes>) throws(Failure) {
    self.command = command
    var rest = words
    while let word = rest.popFirst() {
      if word == Bytes("--") {
        afterDashes = true
        operandsBeforeDashes = operands.count
        operands += rest
        return
      }
      if word.starts(with: Bytes("--")) {
        try takeLong(word, &rest)
      } else if word.first == UInt8(ascii: "-"), word.count > 1,
        // The refusal of a negative value names those that the setting takes.
        command.operands != .setting || Int(word.text) == nil
      {
        try takeShort(word, &rest)
      } else {
        operands.append(word)
        // All words after a job's program belong to the job, even if they look like options.
        if operands.count == command.operands.commandStart {
          operands += rest
          return
        }
      }
    }
  }

  private mutating func takeLong(_ word: Bytes, _ rest: inout ArraySlice<Bytes>) throws(Failure) {
    let equals = word.firstIndex(of: UInt8(ascii: "="))
    let name = Bytes(word[2..<(equals ?? word.count)])
    let known = command.allOptions
    guard let option = known.first(where: { $0.name.rawValue.utf8.elementsEqual(name) }) else {
      if name == Bytes(OptionName.host.rawValue.utf8) {
        throw HostOption.misused("it must precede the command")
      }
      throw unknown(Bytes("--") + name, name: name[...])
    }
    let attached = equals.map { Bytes(word[($0 + 1)...]) }
    guard option.value == nil else {
      return try take(option, attached ?? rest.popFirst(), as: option.long)
    }
    guard attached == nil else {
      throw misused(option.long, "takes no value")
    }
    options.append(Option(name: option.name, value: []))
  }

  /// Parses a cluster of short options, the last of which may have a value: `-fq x` or `-fqx`.
  private mutating func takeShort(_ word: Bytes, _ rest: inout ArraySlice<Bytes>) throws(Failure) {
    var cluster = word.dropFirst()
    while let letter = cluster.popFirst() {
      guard let option = command.allOptions.first(where: { $0.short?.asciiValue == letter }) else {
        // The first byte of a multibyte character: the message shows the whole word instead.
        let named = letter < 0x80 ? [UInt8(ascii: "-"), letter] : word
        // `-json` may be a long option with a missing dash.
        throw unknown(named, name: word.count > 2 ? word.dropFirst() : [])
      }
      guard option.value == nil else {
        let value = cluster.isEmpty ? rest.popFirst() : Bytes(cluster)
        return try take(option, value, as: "-\(Character(UnicodeScalar(letter)))")
      }
      options.append(Option(name: option.name, value: []))
    }
  }

  private mutating func take(
    _ option: OptionSpec, _ value: Bytes?, as name: String
  ) throws(Failure) {
    guard let value else {
      throw misused(name, "needs a value: \(name) \(option.value?.placeholder ?? "")")
    }
    guard option.repeats || !has(option.name) else {
      throw misused(name, "is given more than once")
    }
    options.append(Option(name: option.name, value: value))
  }

  /// Whether the option is given.
  func has(_ name: OptionName) -> Bool { options.contains { $0.name == name } }

  /// The value of an option that is given at most once.
  func value(_ name: OptionName) -> Bytes? { options.first { $0.name == name }?.value }

  /// The values of an option, in the order given.
  func values(_ name: OptionName) -> [Bytes] {
    options.filter { $0.name == name }.map(\.value)
  }

  /// Fails if both options are given; `why` follows the reason.
  func refuse(
    _ one: OptionName, with other: OptionName, why: String = ""
  ) throws(Failure) {
    guard has(one), has(other) else { return }
    throw misused("--\(one.rawValue)", "cannot be combined with --\(other.rawValue)\(why)")
  }

  /// The failure of an unknown option, which may be one of another program, or be misspelled.
  private func unknown(_ word: Bytes, name: ArraySlice<UInt8>) -> Failure {
    let known = command.allOptions
    let close = Suggestion.closest(to: Bytes(name), among: known.map(\.name.rawValue))
    let other = CommandTable.otherOptions.first { (words, option, _) in
      words.contains(word.text) && known.contains { $0.name == option }
    }
    let meant = close.map { "--\($0)" } ?? other?.meant
    let question = meant.map { "; did you mean \($0)?" } ?? ""
    return misused(Visible.text(word), "unknown option of \(command.name.rawValue)\(question)")
  }

  func misused(_ what: String, _ why: String) -> Failure {
    Failure(what, why, next: "See: \(advised("help")) \(command.name.rawValue)")
  }
}

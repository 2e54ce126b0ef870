/// A call of this program by another machine, as one word of a command line.
///
/// The word has only hexadecimal digits, so that every login shell passes it on unchanged.
package struct HostCall: Equatable, Sendable {
  /// How the user of the other machine names this one.
  package var host: Bytes
  /// The version of the program there.
  package var version: Bytes
  /// `NAME=VALUE` entries that describe the terminal there.
  package var variables: [Bytes]
  /// The arguments of the program.
  package var words: [Bytes]

  package init(host: Bytes, version: Bytes, variables: [Bytes], words: [Bytes]) {
    self.host = host
    self.version = version
    self.variables = variables
    self.words = words
  }

  /// The argument before the word of a call; only serialq itself uses it.
  package static let name = Bytes("hosted")

  /// The call that this process carries out, if it does.
  package static let own = HostCall(arguments: (try? Machine.arguments()) ?? [])

  package var word: Bytes {
    // No argument contains NUL.
    let fields = [version, host, Bytes("\(variables.count)".utf8)] + variables + words
    return Bytes(fields.joined(separator: [0]).flatMap { Hex.digits($0) })
  }

  /// Nil if these are no arguments of a call.
  package init?(arguments: [Bytes]) {
    guard arguments.count == 2, arguments[0] == Self.name else { return nil }
    let digits = arguments[1].map { Hex.digit($0) ?? 0 }
    let bytes = stride(from: 0, to: digits.count - 1, by: 2).map {
      digits[$0] << 4 | digits[$0 + 1]
    }
    let fields = bytes.split(separator: 0, omittingEmptySubsequences: false).map { Bytes($0) }
    guard fields.count >= 3, let count = Int(fields[2].text), 0...fields.count - 3 ~= count else {
      return nil
    }
    self.init(
      host: fields[1], version: fields[0], variables: Array(fields[3..<3 + count]),
      words: Array(fields[(3 + count)...]))
  }
}

extension HostCall {
  /// How many of these words are the option `--host` and its value.
  package static func optionCount(in words: [Bytes]) -> Int {
    guard let first = words.first else { return 0 }
    if first == Bytes("--host") { return 2 }
    return first.starts(with: Bytes("--host=")) ? 1 : 0
  }

  /// The value of the option; nil if there is none.
  package static func option(in words: [Bytes]) -> Bytes? {
    switch optionCount(in: words) {
    case 0: nil
    case 1: Bytes(words[0].dropFirst("--host=".utf8.count))
    default: words.dropFirst().first
    }
  }
}

import SerialqQueue
import SerialqSystem

/// The input of `add -f`: one command line per line.
enum JobFile {
  /// The command lines in `text`, in order and byte for byte.
  ///
  /// Skips blank lines and lines whose first visible character is `#`. Removes a byte order mark,
  /// a carriage return before a line's end, and a backslash at a line's end together with that end,
  /// as a shell does. Refuses a line that ends in quotes: its rest would become further jobs.
  /// `name` is the file name for error messages.
  static func commands(in text: Bytes, from name: Bytes) throws(Failure) -> [Command] {
    let file = name == Bytes("-") ? "standard input" : Visible.text(name)
    var commands: [Command] = []
    var line = Line()
    func refuseQuote(_ number: Int) throws(Failure) {
      guard let quote = line.openQuote else { return }
      throw Failure(
        "\(file), line \(number)", "a quote (\(quote)) is open at the end of the line",
        next: "Nothing was queued. A command is one line; \\ at the end of a line continues it.")
    }
    let parts = lines(of: text)
    for (index, part) in parts.enumerated() {
      let part = part.last == UInt8(ascii: "\r") ? part.dropLast() : part
      guard !part.contains(0) else {
        throw Failure(
          "\(file), line \(index + 1)", "a command cannot contain a NUL byte",
          next: "Nothing was queued. Is it a text file?"
        )
      }
      if line.append(part) { continue }
      try refuseQuote(index + 1)
      if line.isCommand { commands.append(.shell(line.bytes)) }
      line = Line()
    }
    // A backslash at the end of the file continues nothing.
    try refuseQuote(parts.count)
    if line.isCommand { commands.append(.shell(line.bytes)) }
    guard !commands.isEmpty else {
      throw Failure(
        file, "no command in it",
        next: """
          Nothing was queued, and nothing is run. A file has one command a line; blank lines and lines \
          that start with # do not count.
          """)
    }
    return commands
  }

  /// The quote that is open at the end of a command line, if that is certain.
  ///
  /// Nil for several lines: of those, a shell runs the first before it reads the next, and a
  /// here-document can have any quotes. A backslash at the end counts only if words follow the
  /// line.
  static func openQuote(in text: Bytes, beforeWords: Bool = false) -> Character? {
    guard !text.contains(UInt8(ascii: "\n")) else { return nil }
    var line = Line()
    let endsInBackslash = line.append(text[...])
    return beforeWords && endsInBackslash ? "\\" : line.openQuote
  }

  private static func lines(of text: Bytes) -> [ArraySlice<UInt8>] {
    let mark: Bytes = [0xEF, 0xBB, 0xBF]
    return text.dropFirst(text.starts(with: mark) ? mark.count : 0).split(
      separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
  }
}

extension JobFile {
  /// A command line under construction: the parts of lines joined by backslashes.
  ///
  /// Tracks quotes only as far as their reading is certain. After `$'`, after a backquote, which
  /// changes what a backslash does, and after a command substitution in double quotes, shells
  /// differ or nest: then nothing counts as open.
  fileprivate struct Line {
    private(set) var bytes = Bytes()
    private var quote: UInt8?
    private var isInComment = false
    private var isCertain = true
    private var startsWord = true

    /// The quote that is open, if that is certain.
    var openQuote: Character? {
      isCertain ? quote.map { Character(UnicodeScalar($0)) } : nil
    }

    var isCommand: Bool {
      let visible = bytes.first { !$0.isBlank }
      return visible != nil && visible != UInt8(ascii: "#")
    }

    /// Returns whether the next line continues this one.
    mutating func append(_ part: ArraySlice<UInt8>) -> Bool {
      var rest = part
      while let byte = rest.popFirst() {
        if byte == UInt8(ascii: "\\"), quote != UInt8(ascii: "'"), !isInComment {
          guard let next = rest.popFirst() else { return true }
          bytes += [byte, next]
          startsWord = false
        } else {
          take(byte, next: rest.first)
          bytes.append(byte)
        }
      }
      return false
    }

    private mutating func take(_ byte: UInt8, next: UInt8?) {
      if isInComment { return }
      switch byte {
      case _ where byte == quote:
        quote = nil
      case _ where quote == UInt8(ascii: "'"):
        break
      case UInt8(ascii: "`"):
        giveUp()
      case UInt8(ascii: "$") where quote != nil:
        if next == UInt8(ascii: "(") || next == UInt8(ascii: "{") { giveUp() }
      case UInt8(ascii: "$"):
        if next == UInt8(ascii: "'") { giveUp() }
      case UInt8(ascii: "'") where quote == nil, UInt8(ascii: "\"") where quote == nil:
        if isCertain { quote = byte }
      case UInt8(ascii: "#") where quote == nil && startsWord:
        isInComment = true
      default:
        break
      }
      startsWord = quote == nil && (byte.isBlank || Bytes(";&|()<>").contains(byte))
    }

    private mutating func giveUp() {
      isCertain = false
      quote = nil
    }
  }
}

/// Text as mdoc(7) takes it.
enum Mdoc {
  /// Text lines for a paragraph: a sentence begins a line, as the language wants it, and what would
  /// be markup is text.
  static func text(_ paragraph: String) -> String {
    var lines = [""]
    for word in paragraph.split(separator: " ") {
      let line = lines[lines.count - 1]
      let word = escaped(word)
      if line.isEmpty {
        lines[lines.count - 1] = word
      } else if line.count + 1 + word.count > 78 || line.last.map(".!?:;".contains) == true {
        lines.append(word)
      } else {
        lines[lines.count - 1] = "\(line) \(word)"
      }
    }
    return lines.map(guarded).joined(separator: "\n")
  }

  /// A line that is shown as it is.
  static func literal(_ line: String) -> String {
    guarded(line.replacing("\\", with: "\\e").replacing("-", with: "\\-"))
  }

  /// The macros for a form of a command as the table has it: `wait [options] [ID...]`.
  static func form(_ synopsis: String) -> String {
    words(of: synopsis).map { word in
      guard word.first == "[", word.last == "]" else { return macro(word) }
      return "Oo \(macro(String(word.dropFirst().dropLast()))) Oc"
    }.joined(separator: " ")
  }

  /// The macros for an option: `Fl q , Fl -queue Ar NAME`.
  static func option(_ option: OptionSpec) -> String {
    let short = option.short.map { "Fl \($0) , " } ?? ""
    return short + "Fl -\(option.name.rawValue)"
      + (option.value.map { " Ar \($0.placeholder)" } ?? "")
  }

  private static func macro(_ word: String) -> String {
    if word == "--" { return "Fl -" }
    if word.first == "-" { return "Fl \(word.dropFirst())" }
    if word == "options" { return "Ar options" }
    if word.hasSuffix("...") { return "Ar \(word.dropLast(3)) ..." }
    if word.contains("|") {
      return "Cm \(word.split(separator: "|").joined(separator: " | "))"
    }
    return word.first?.isLowercase == true ? "Cm \(word)" : "Ar \"\(word)\""
  }

  /// Blanks part words, but not between quotes.
  private static func words(of text: String) -> [String] {
    text.split(separator: "'", omittingEmptySubsequences: false).enumerated().flatMap {
      index, part in
      index % 2 == 1 ? ["'\(part)'"] : part.split(separator: " ").map(String.init)
    }
  }

  /// A hyphen that begins an option is one in the output too, and can be searched for and copied.
  private static func escaped(_ word: Substring) -> String {
    let text = word.replacing("\\", with: "\\e")
    let dashes = text.prefix { $0 == "-" }.count
    return String(repeating: "\\-", count: dashes) + text.dropFirst(dashes)
  }

  /// A line that begins like a macro.
  private static func guarded(_ line: String) -> String {
    line.first == "." || line.first == "'" ? "\\&\(line)" : line
  }
}

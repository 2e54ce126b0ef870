@testable import SerialqCLI

/// Formats text as mdoc(7).
enum Mdoc {
  /// The text lines of a paragraph.
  ///
  /// Starts each sentence on a new line, as mdoc requires, and escapes markup.
  static func text(_ paragraph: String) -> String {
    var lines = [""]
    for word in paragraph.split(separator: " ") {
      let line = lines[lines.count - 1]
      let word = escaped(word)
      if line.isEmpty {
        lines[lines.count - 1] = word
      } else if line.count + 1 + word.count > 78 || line.last.map(".!?".contains) == true {
        lines.append(word)
      } else {
        lines[lines.count - 1] = "\(line) \(word)"
      }
    }
    return lines.map(guarded).joined(separator: "\n")
  }

  /// The macros for a synopsis of a command: `wait [options] [ID...]`.
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

  /// Splits at blanks, except between quotes.
  private static func words(of text: String) -> [String] {
    text.split(separator: "'", omittingEmptySubsequences: false).enumerated().flatMap {
      index, part in
      index % 2 == 1 ? ["'\(part)'"] : part.split(separator: " ").map(String.init)
    }
  }

  /// Escapes leading hyphens: otherwise the output has typographic ones, which cannot be searched
  /// or copied.
  private static func escaped(_ word: Substring) -> String {
    let text = word.replacing("\\", with: "\\e")
    let dashes = text.prefix { $0 == "-" }.count
    return String(repeating: "\\-", count: dashes) + text.dropFirst(dashes)
  }

  /// Escapes a line that would be read as a macro.
  private static func guarded(_ line: String) -> String {
    line.first == "." || line.first == "'" ? "\\&\(line)" : line
  }
}

import SerialqQueue
import SerialqSystem

/// A setting of a queue: its name, the values it takes, and where it is stored.
///
/// A new setting is a row of ``all``.
struct Setting: Sendable {
  let name: String
  /// The fixed values: of a flag all, else the one that removes the setting.
  var choices: [String] = []
  let kind: Kind

  typealias Path<Stored> = WritableKeyPath<QueueProperties, Stored> & Sendable

  enum Kind: Sendable {
    /// True for the value `on`.
    case flag(Path<Bool>, on: String)
    /// `form` describes the values that `read` accepts.
    case number(
      Path<Int?>, form: String, read: @Sendable (Bytes) -> Int?, text: @Sendable (Int) -> String)
    /// A line for the shell, with the context of this process.
    case hook(Path<Hook?>)
    case shell
    /// A line for the shell, to which the words of each job are added.
    case launcher
  }

  /// In the order in which they are shown.
  static let all = [
    Setting(
      name: "on-failure", choices: ["continue", "stop"],
      kind: .flag(\.settings.stopsOnFailure, on: "stop")),
    Setting(name: "on-finish", kind: .hook(\.settings.onFinish)),
    Setting(name: "on-idle", kind: .hook(\.onIdle)),
    Setting(name: "on-ask", kind: .hook(\.settings.onAsk)),
    keep,
    Setting(name: "shell", choices: ["default"], kind: .shell),
    Setting(
      name: "log-limit", choices: ["none"],
      kind: .number(\.settings.logLimit, form: "a size of at least 1K, such as 10M") {
        Humanize.parseSize($0).map(Int.init).flatMap {
          QueueProperties.Settings.logLimits ~= $0 ? $0 : nil
        }
      } text: {
        Humanize.size(Int64($0))
      }),
    Setting(name: "tty", choices: ["on", "off"], kind: .flag(\.settings.terminal, on: "on")),
    Setting(name: "launcher", kind: .launcher),
  ]

  static let keep = Setting(
    name: "keep", choices: ["all"],
    kind: .number(\.settings.keep, form: "a number above 0") {
      Int(decimal: $0).flatMap { $0 <= Int(UInt32.max) ? $0 : nil }
    } text: {
      "\($0)"
    })

  /// What other programs call the fixed values.
  private static let meanings: [(choice: String, words: [String])] = [
    ("stop", ["abort", "pause", "halt", "exit"]), ("continue", ["ignore", "skip", "resume"]),
    ("on", ["yes", "true", "1"]), ("off", ["no", "false", "0", "none"]),
  ]
}

extension Setting: Equatable {
  static func == (one: Setting, other: Setting) -> Bool { one.name == other.name }
}

extension Setting {
  static func named(_ name: Bytes, in words: ParsedArguments) throws(Failure) -> Setting {
    if let setting = all.first(where: { $0.name.utf8.elementsEqual(name) }) { return setting }
    let names = all.map(\.name)
    let meant = Suggestion.question(about: name, among: names)
    throw words.misused(Visible.text(name), "not one of \(names.joined(separator: ", "))\(meant)")
  }

  /// The value to store; empty to remove the setting.
  func parse(_ value: Bytes, in words: ParsedArguments) throws(Failure) -> Bytes {
    func refused(_ form: String) -> Failure {
      words.misused(value.isEmpty ? "''" : Visible.text(value), "\(name) is \(form)")
    }
    let isChoice = choices.contains(value.text)
    switch kind {
    case .flag:
      if isChoice { return value }
      let meant = Self.meanings.first {
        $0.words.contains(value.text) && choices.contains($0.choice)
      }
      let question =
        meant.map { "; did you mean \($0.choice)?" }
        ?? Suggestion.question(about: value, among: choices)
      throw refused(choices.joined(separator: " or ") + question)
    case _ where isChoice: return []
    case .number(_, let form, let read, _):
      guard read(value) != nil else { throw refused("\(form), or \(choices[0])") }
      return value
    case .shell:
      guard value.first == UInt8(ascii: "/") else {
        throw refused("an absolute path, or \(choices[0])")
      }
      return value
    case .hook: return value.allSatisfy(\.isSpace) ? [] : value
    case .launcher: return try launcher(value, words)
    }
  }

  private func launcher(_ value: Bytes, _ words: ParsedArguments) throws(Failure) -> Bytes {
    guard !value.contains(UInt8(ascii: "\n")) else {
      throw words.misused(name, "takes one line, to which the words of each job are added")
    }
    let start = value.drop { $0.isSpace }
    guard let end = start.lastIndex(where: { !$0.isSpace }) else { return [] }
    let line = Bytes(start[...end])
    if let quote = JobFile.openQuote(in: line, beforeWords: true) {
      throw words.misused(
        name, "a quote (\(quote)) is open at its end, where the words of each job are added")
    }
    return line
  }

  func store(
    _ value: Bytes, in properties: inout QueueProperties, _ scope: JournalScope
  ) throws(Failure) {
    let line = value.isEmpty ? nil : value
    switch kind {
    case .flag(let path, let on): properties[keyPath: path] = value.text == on
    case .number(let path, _, let read, _): properties[keyPath: path] = line.flatMap(read)
    case .hook(let path):
      properties[keyPath: path] = try line.map { (line) throws(Failure) in try scope.hook(line) }
    case .shell: properties.settings.shell = line
    case .launcher: properties.settings.launcher = line
    }
  }

  /// The present value, in the form that `set` takes.
  func text(in properties: QueueProperties) -> String {
    switch kind {
    case .flag(let path, let on):
      properties[keyPath: path] ? on : choices.first { $0 != on } ?? ""
    case .number(let path, _, _, let text): properties[keyPath: path].map(text) ?? choices[0]
    case .hook(let path): ShellQuote.word(properties[keyPath: path]?.line ?? [])
    case .shell: ShellQuote.word(properties.settings.shell ?? Command.standardShell)
    case .launcher: ShellQuote.word(properties.settings.launcher ?? [])
    }
  }
}

import SerialqQueue
import SerialqSystem

/// Computes the completions of the last word of a command line.
///
/// Pure: the caller looks up the queues and jobs.
struct Completion: Equatable {
  struct Candidate: Equatable {
    var word: String
    var meaning: String = ""
  }

  enum Wanted: Equatable {
    case words([Candidate])
    case queues
    /// Ids of jobs that the command accepts.
    case jobs(CommandName)
    case files
    case directories
    /// A command line of its own, from this word on, counted from 1.
    case command(Int)
  }

  var wanted: Wanted
  /// The prefix of the last word that is kept; ASCII without blanks.
  var kept: Bytes = []
  /// The queue selected by an earlier option.
  var queue: Bytes?

  /// For the arguments after the program's name; the last is incomplete and may be empty.
  ///
  /// Completes no queues, jobs or files of another machine: asking it could take long, or need a
  /// password. `isElsewhere` is whether a variable names one.
  init(_ words: [Bytes], isElsewhere: Bool = false) {
    let count = HostCall.optionCount(in: words)
    if count >= words.count, count > 0 {
      self.init(wanted: .words([]))
      return
    }
    self.init(local: Array(words.dropFirst(count)))
    if count == 0, words.count == 1, words[0].first == UInt8(ascii: "-"),
      case .words(let options) = wanted, kept.isEmpty
    {
      let host = HostOption.spec
      wanted = .words(options + [Candidate(word: host.long, meaning: host.help)])
    }
    guard count > 0 || isElsewhere else { return }
    switch wanted {
    case .command(let number): wanted = .command(number + count)
    case .queues, .jobs, .files, .directories: wanted = .words([])
    case .words: break
    }
  }

  /// For the arguments after the host, if one is named.
  private init(local words: [Bytes]) {
    let last = words.last ?? []
    let before = Invocation.commandFirst(words.dropLast())[...]
    let isOption = (before.first ?? last).first == UInt8(ascii: "-")
    let command = isOption ? .status : before.first.flatMap(CommandName.init(called:))
    if let command {
      self.init(command, isOption ? before : before.dropFirst(), last)
      // The command can still follow.
      if isOption, case .words([]) = wanted, last.first != UInt8(ascii: "-") {
        wanted = Completion.commands
      }
    } else {
      self.init(wanted: before.isEmpty ? Completion.commands : .words([]))
    }
  }

  private init(wanted: Wanted) { self.wanted = wanted }

  /// For the words between the command and the last one.
  private init(_ command: CommandName, _ before: ArraySlice<Bytes>, _ last: Bytes) {
    let spec = command.type.spec
    var given = try? ParsedArguments(spec, before)
    var pending: OptionSpec?
    if given == nil {
      // It may be only a value that is missing. Otherwise the word is ignored.
      given = try? ParsedArguments(spec, before.dropLast())
      if let word = before.last, let (option, start) = spec.lastOption(in: word), start == nil,
        option.value != nil
      {
        pending = option
      }
    }
    // Nothing can follow words that the command refuses.
    wanted = .words([])
    guard let given else { return }
    queue = given.value(.queue)
    if let option = pending {
      take(option, of: command, from: 0, of: last)
    } else if let start = spec.operands.commandStart, given.operands.count >= start {
      wanted = .command(before.endIndex - given.operands.count + start)
    } else if !given.afterDashes, last.first == UInt8(ascii: "-") {
      guard let (option, start) = spec.lastOption(in: last), let start else {
        wanted = .words(Completion.options(after: given))
        return
      }
      take(option, of: command, from: start, of: last)
    } else {
      wanted = Completion.operand(given, number: before.endIndex + 1)
    }
  }

  /// Completes the value of an option, which starts there in the last word.
  private mutating func take(
    _ option: OptionSpec, of command: CommandName, from start: Int, of last: Bytes
  ) {
    wanted = Completion.value(of: option, command)
    kept = Bytes(last[..<start])
    guard case .choice? = option.value?.kind, case .words(let all) = wanted,
      let comma = last[start...].lastIndex(of: UInt8(ascii: ","))
    else { return }
    let given = last[start...].split(separator: UInt8(ascii: ",")).map { Bytes($0).text }
    wanted = .words(all.filter { !given.contains($0.word) })
    kept = Bytes(last[...comma])
  }

  /// Options that can still be given, in all spellings.
  private static func options(after given: ParsedArguments) -> [Candidate] {
    let options = given.command.allOptions.filter { $0.repeats || !given.has($0.name) }
    return options.flatMap { option in
      let short = option.short.map { [Candidate(word: "-\($0)", meaning: option.help)] } ?? []
      return short + [Candidate(word: option.long, meaning: option.help)]
    }
  }

  private static func value(of option: OptionSpec, _ command: CommandName) -> Wanted {
    switch option.value?.kind {
    case .file: .files
    case .directory: .directories
    case .queue: .queues
    case .jobID, .jobIDs: .jobs(command)
    case .key: .words([Candidate(word: "^]"), Candidate(word: "^A")])
    case .signal: .words(SignalName.all.map { Candidate(word: $0) })
    case .choice(let choices): .words(choices.map { Candidate(word: $0) })
    case .countOrAll: .words([Candidate(word: "all")])
    case .text, .label, .assignment, .commandLine, .count, .countOrNone, .duration, nil: .words([])
    }
  }

  /// Completes an operand, which is the word with this number on the command line.
  private static func operand(_ given: ParsedArguments, number: Int) -> Wanted {
    let isFirst = given.operands.isEmpty
    let command = given.command.name
    switch given.command.operands {
    case .none: return .words([])
    case .jobCommand: return .command(number)
    case .jobID: return isFirst ? .jobs(command) : .words([])
    case .jobIDAndCommand: return isFirst ? .jobs(command) : .command(number)
    case .jobIDs: return .jobs(command)
    case .setting:
      guard let name = given.operands.first else {
        return .words(Setting.all.map { Candidate(word: $0.name) })
      }
      let setting = Setting.all.first { $0.name.utf8.elementsEqual(name) }
      let choices = given.operands.count == 1 ? setting?.choices ?? [] : []
      return .words(choices.map { Candidate(word: $0) })
    case .commandName: return isFirst ? commands : .words([])
    case .completion:
      let names = CompletionScript.allCases.map { Candidate(word: $0.rawValue) }
      return .words(isFirst ? names : [])
    }
  }

  private static var commands: Wanted {
    .words(CommandTable.commands.map { Candidate(word: $0.name.rawValue, meaning: $0.summary) })
  }
}

extension CommandSpec {
  /// The last option in a word that starts with a dash, and the offset of its value in the word, if
  /// any.
  ///
  /// Nil if the word contains no option.
  func lastOption(in word: Bytes) -> (OptionSpec, valueStart: Int?)? {
    if word.starts(with: Bytes("--")) {
      let name = word.dropFirst(2).prefix { $0 != UInt8(ascii: "=") }
      let option = allOptions.first { $0.name.rawValue.utf8.elementsEqual(name) }
      guard let option else { return nil }
      return (option, name.endIndex < word.endIndex ? name.endIndex + 1 : nil)
    }
    var found: OptionSpec?
    for (index, letter) in zip(word.indices, word).dropFirst() {
      guard let option = allOptions.first(where: { $0.short?.asciiValue == letter }) else {
        return nil
      }
      found = option
      if option.value != nil { return (option, index + 1 < word.endIndex ? index + 1 : nil) }
    }
    return found.map { ($0, nil) }
  }
}

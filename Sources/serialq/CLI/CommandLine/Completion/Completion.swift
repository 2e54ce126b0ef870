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
    /// Ids of jobs that the command accepts, starting with this one.
    case jobs(CommandName, from: JobID)
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
      let scan = Scan(command, isOption ? before : before.dropFirst())
      self.init(scan, last)
      if isOption, scan.pending == nil, last.first != UInt8(ascii: "-") {
        wanted = Completion.commands
      }
    } else {
      self.init(wanted: before.isEmpty ? Completion.commands : .words([]))
    }
  }

  private init(wanted: Wanted) { self.wanted = wanted }

  private init(_ scan: Scan, _ last: Bytes) {
    queue = scan.queue
    if let start = scan.commandStart {
      wanted = .command(start)
    } else if let option = scan.pending {
      (wanted, kept) = Completion.value(of: option, scan.command, last)
    } else if !scan.isAfterDashes, last.first == UInt8(ascii: "-") {
      guard let (option, start) = scan.spec.lastOption(in: last), let start else {
        wanted = .words(scan.options)
        return
      }
      (wanted, kept) = Completion.value(of: option, scan.command, Bytes(last[start...]))
      kept = last[..<start] + kept
    } else {
      (wanted, kept) = Completion.operand(scan, last)
    }
  }

  private static func value(
    of option: OptionSpec, _ command: CommandName, _ word: Bytes
  ) -> (Wanted, kept: Bytes) {
    switch option.value?.kind {
    case .file: (.files, [])
    case .directory: (.directories, [])
    case .queue: (.queues, [])
    case .jobID: (.jobs(command, from: 1), [])
    case .jobIDs: ids(command, word)
    case .key: (.words([Candidate(word: "^]"), Candidate(word: "^A")]), [])
    case .signal: (.words(SignalName.all.map { Candidate(word: $0) }), [])
    case .choice(let choices): (.words(choices.map { Candidate(word: $0) }), [])
    case .countOrAll: (.words([Candidate(word: "all")]), [])
    case .text, .assignment, .commandLine, .count, .countOrNone, .duration, nil: (.words([]), [])
    }
  }

  private static func operand(_ scan: Scan, _ word: Bytes) -> (Wanted, kept: Bytes) {
    let isFirst = scan.operands.isEmpty
    switch scan.spec.operands {
    case .none: return (.words([]), [])
    case .jobCommand: return (.command(scan.next), [])
    case .jobID: return (isFirst ? .jobs(scan.command, from: 1) : .words([]), [])
    case .jobIDAndCommand:
      return (isFirst ? .jobs(scan.command, from: 1) : .command(scan.next), [])
    case .jobIDs: return ids(scan.command, word)
    case .setting:
      guard let name = scan.operands.first else {
        return (.words(SetCommand.settings.map { Candidate(word: $0.name) }), [])
      }
      let setting = SetCommand.settings.first { $0.name.utf8.elementsEqual(name) }
      let choices = scan.operands.count == 1 ? setting?.choices ?? [] : []
      return (.words(choices.map { Candidate(word: $0) }), [])
    case .commandName: return (isFirst ? commands : .words([]), [])
    case .completion:
      let names = CompletionScript.allCases.map { Candidate(word: $0.rawValue) }
      return (.words(isFirst ? names : []), [])
    }
  }

  /// Completes ids; after `3-` only those from 3 on.
  private static func ids(_ command: CommandName, _ word: Bytes) -> (Wanted, kept: Bytes) {
    let digits = word.prefix { $0 != UInt8(ascii: "-") }
    guard digits.count < word.count, let first = Int(decimal: Bytes(digits)), first < .max
    else { return (.jobs(command, from: 1), []) }
    return (.jobs(command, from: first + 1), digits + [UInt8(ascii: "-")])
  }

  private static var commands: Wanted {
    .words(CommandTable.commands.map { Candidate(word: $0.name.rawValue, meaning: $0.summary) })
  }
}

extension Completion {
  /// Scans the words before the last one.
  private struct Scan {
    var command: CommandName
    var spec: CommandSpec
    var given: Set<OptionName> = []
    var operands: [Bytes] = []
    /// The option whose value comes next.
    var pending: OptionSpec?
    var isAfterDashes = false
    var queue: Bytes?
    var commandStart: Int?
    /// The index of the last word, counted from 1.
    var next: Int

    init(_ command: CommandName, _ words: ArraySlice<Bytes>) {
      self.command = command
      spec = command.type.spec
      next = words.endIndex + 1
      for (index, word) in zip(words.indices, words) where commandStart == nil {
        take(word, number: index + 1)
      }
    }

    private mutating func take(_ word: Bytes, number: Int) {
      if let option = pending {
        if option.name == .queue { queue = word }
        pending = nil
      } else if isAfterDashes || word.first != UInt8(ascii: "-") || word.count == 1 {
        operands.append(word)
        if operands.count == spec.operands.commandStart { commandStart = number }
      } else if word == Bytes("--") {
        isAfterDashes = true
      } else if let (option, start) = spec.lastOption(in: word) {
        given.insert(option.name)
        guard option.value != nil else { return }
        guard let start else { return pending = option }
        if option.name == .queue { queue = Bytes(word[start...]) }
      }
    }

    /// Options that can still be given, in all spellings.
    var options: [Candidate] {
      spec.allOptions.filter { $0.repeats || !given.contains($0.name) }.flatMap { option in
        let short = option.short.map { [Candidate(word: "-\($0)", meaning: option.help)] } ?? []
        return short + [Candidate(word: option.long, meaning: option.help)]
      }
    }
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

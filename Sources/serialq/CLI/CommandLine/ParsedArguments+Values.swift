import SerialqQueue
import SerialqSystem

/// Access to the values of options, validated by kind.
extension ParsedArguments {
  /// The value of a duration option, in seconds.
  func seconds(_ name: OptionName) -> Int? {
    value(name).flatMap(Humanize.parseDuration).map { Int($0) }
  }

  func number(_ name: OptionName) -> Int? { value(name).flatMap { Int(digits: $0) } }

  /// Fails unless every value is valid for its option.
  func check() throws(Failure) {
    for option in command.options {
      guard let kind = option.value?.kind else { continue }
      for value in values(option.name) {
        guard let fault = Self.fault(in: value, kind) else { continue }
        throw misused("\(option.long) \(value.isEmpty ? "''" : Visible.text(value))", fault)
      }
    }
    guard !operands.contains(where: { $0.contains(0) }) else {
      throw misused(command.name.rawValue, "an argument cannot contain a NUL byte")
    }
  }

  private static func fault(in value: Bytes, _ kind: OptionValue.Kind) -> String? {
    guard !value.contains(0) else { return "a value cannot contain a NUL byte" }
    switch kind {
    case .text: return nil
    case .label:
      return JobSelection(value).isOfIDs
        ? "a label cannot be a number or a range, which are ids" : nil
    case .file: return value.isEmpty ? "a file's name cannot be empty" : nil
    case .directory: return value.isEmpty ? "a directory's name cannot be empty" : nil
    case .queue: return QueueName.fault(in: value)
    case .commandLine: return value.allSatisfy(\.isSpace) ? "the command is empty" : nil
    case .count:
      guard let number = Int(decimal: value) else { return "not a number above 0" }
      return number > mostCounted ? "more than \(mostCounted)" : nil
    case .countOrNone:
      guard let number = Int(digits: value) else { return "not a number" }
      return number > mostCounted ? "more than \(mostCounted)" : nil
    case .countOrAll: return value == Bytes("all") ? nil : fault(in: value, .count)
    case .jobID:
      return JobSelection(value).namesOneJob ? nil : "not one job: give an id or a label"
    case .jobIDs: return value.isEmpty ? "give ids or a label" : nil
    case .duration:
      guard let seconds = Humanize.parseDuration(value) else {
        return "not a duration, such as 90, 30m, 1h30m, 1.5h or 7d"
      }
      let days = Humanize.longest / 86_400
      return seconds > Humanize.longest ? "too long; the longest is \(days)d" : nil
    case .signal:
      return SignalName.number(of: value) == nil ? "not a signal, such as INT or 2" : nil
    case .key: return KeyName.fault(in: value)
    case .assignment:
      guard let equals = value.firstIndex(of: UInt8(ascii: "=")) else {
        return "it contains no =; the form is NAME=VALUE"
      }
      return equals == 0 ? "the variable has no name" : nil
    case .choice(let choices):
      let items = value.text.split(separator: ",", omittingEmptySubsequences: false).map(
        String.init)
      guard let wrong = items.first(where: { !choices.contains($0) }) else { return nil }
      let meant = Suggestion.question(about: Bytes(wrong.utf8), among: choices)
      return "not one of \(choices.joined(separator: ", "))\(meant)"
    }
  }

  /// The highest count accepted: under half of the 2^31 attempts that the journal can store for a
  /// job, so that a manual retry can repeat all of them.
  static let mostCounted = 1_000_000_000
}

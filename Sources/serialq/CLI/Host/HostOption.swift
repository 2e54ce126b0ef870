import SerialqSystem

/// The option `--host`, which precedes the command, and its variable.
enum HostOption {
  static let variable = "SERIALQ_HOST"

  /// As the help, the manual and completion describe it.
  static let spec = OptionSpec(
    .host, value: OptionValue(.text, "HOST"),
    help: "Uses the queues of another machine, over ssh.")

  /// Splits off the option; without it, the variable names the host.
  ///
  /// Nil for this machine. Words with which serialq starts itself are always for this machine.
  static func split(
    _ words: [Bytes], variable value: Bytes?
  ) throws(Failure) -> (HostAddress?, [Bytes]) {
    let count = HostCall.optionCount(in: words)
    guard count > 0 else {
      guard let value, !(words.first.map(Invocation.internalWords.contains) ?? false) else {
        return (nil, words)
      }
      return (try HostAddress.parse(value, from: "\(variable)="), words)
    }
    guard let value = HostCall.option(in: words) else {
      throw misused("needs a value: --host HOST")
    }
    let rest = Array(words.dropFirst(count))
    if HostCall.optionCount(in: rest) > 0 {
      throw misused("is given more than once")
    }
    return (try HostAddress.parse(value, from: "--host "), rest)
  }

  static func misused(_ why: String) -> Failure {
    Failure("--host", why, next: "For example: serialq --host user@box list")
  }
}

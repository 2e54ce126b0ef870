/// What a job runs.
enum JobCommand: Equatable, Sendable {
  /// A command line for `/bin/sh -c`.
  case shell(Bytes)
  /// A program and its arguments, passed on exactly; never empty.
  case arguments([Bytes])
}

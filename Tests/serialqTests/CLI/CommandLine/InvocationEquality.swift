@testable import SerialqCLI

extension Invocation: Equatable {
  /// Whether both are the same call.
  public static func == (one: Self, other: Self) -> Bool {
    switch (one, other) {
    case (.command(let one), .command(let other)): one.isEqual(to: other)
    case (.backgroundRunner(let one), .backgroundRunner(let other)): one == other
    case (.terminalKeeper(let one, let id), .terminalKeeper(let other, let otherID)):
      one == other && id == otherID
    case (.command, _), (.backgroundRunner, _), (.terminalKeeper, _): false
    }
  }
}

extension Subcommand {
  /// Equality of commands of any type.
  fileprivate func isEqual(to other: any Subcommand) -> Bool { self == other as? Self }
}

import SerialqSystem

/// What `execve(2)` accepts, in bytes.
package struct ExecutionLimits: Equatable, Sendable {
  /// All arguments and variables together, with a pointer to each.
  package var total: Int
  /// One argument or variable with its final NUL; nil if only the total counts.
  package var each: Int?

  /// The limits of this system, by `sysconf(3)`.
  ///
  /// The runner's may differ, if it was started with another limit of the stack.
  package static var current: ExecutionLimits {
    let total = sysconf(Int32(_SC_ARG_MAX))
    #if os(Linux)
      // Linux limits the total to three quarters of its default stack of 8 MB, and one string to
      // 32 pages.
      return ExecutionLimits(
        total: min(total > 0 ? total : .max, 6 << 20), each: 32 * sysconf(Int32(_SC_PAGESIZE)))
    #else
      return ExecutionLimits(total: total > 0 ? total : .max, each: nil)
    #endif
  }

  /// Left for the variables and the path that the runner adds.
  private static let reserve = 8_192

  /// The length of the longest string, and the size of all with their final NULs and pointers.
  private static func sizes(_ strings: [Bytes]) -> (longest: Int, all: Int) {
    strings.reduce((0, 0)) { sizes, string in
      (max(sizes.0, string.count), sizes.1 + string.count + 1 + MemoryLayout<Int>.size)
    }
  }

  /// Why a command can never be executed in this environment; nil if it can.
  package func fault(in command: Command, environment: [Bytes]) -> String? {
    let words =
      switch command {
      case .shell(let line): [Bytes("/bin/sh"), Bytes("-c"), line]
      case .arguments(let words): words
      }
    let (longest, size) = Self.sizes(words)
    if let each, longest >= each {
      return "it is too long: \(longest) bytes; the system takes \(each - 1) in one argument"
    }
    let (longestVariable, sizeOfVariables) = Self.sizes(environment)
    if let each, longestVariable >= each {
      return "a variable is too long: \(longestVariable) bytes; the system takes \(each - 1)"
    }
    let sum = Self.reserve + size + sizeOfVariables
    guard sum > total else { return nil }
    return "it is too long: \(sum) bytes with its environment; the system takes \(total)"
  }
}

import Foundation

/// Runs programs as cheaply as the system can, so that what is measured is the program.
struct Program {
  let path: String
  let arguments: [String]
  var environment: [String: String] = [:]
  var input: String?

  /// Starts it, waits for its end, and returns its exit code; 127 if it cannot be started.
  @discardableResult
  func run() -> Int32 {
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_addopen(&actions, 0, input ?? "/dev/null", O_RDONLY, 0)
    posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0)
    var variables = ProcessInfo.processInfo.environment
    variables.merge(environment) { $1 }
    var words: [UnsafeMutablePointer<CChar>?] = ([path] + arguments).map { strdup($0) }
    var settings: [UnsafeMutablePointer<CChar>?] = variables.map { strdup("\($0)=\($1)") }
    defer { for word in words + settings { free(word) } }
    words.append(nil)
    settings.append(nil)
    var pid: pid_t = 0
    guard posix_spawnp(&pid, path, &actions, nil, &words, &settings) == 0 else { return 127 }
    var status: Int32 = 0
    while waitpid(pid, &status, 0) == -1 && errno == EINTR {}
    return status & 0x7f == 0 ? status >> 8 & 0xff : 128 + status & 0x7f
  }

  /// The full path of a program; nil if it is not installed.
  static func find(_ name: String) -> String? {
    let path = ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin"
    return path.split(separator: ":").map { "\($0)/\(name)" }.first {
      access($0, X_OK) == 0
    }
  }
}

/// A folder for one measurement.
struct Scratch {
  let path: String

  init() {
    path = NSTemporaryDirectory() + "serialq-benchmark-\(UUID().uuidString)"
    try? FileManager.default.createDirectory(
      atPath: path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
  }

  func remove() {
    try? FileManager.default.removeItem(atPath: path)
  }
}

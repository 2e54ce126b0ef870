import Foundation

/// Runs a program with minimal overhead: all preparation is done in advance, so that only the
/// program is measured.
final class Program {
  private let path: String
  private var words: [UnsafeMutablePointer<CChar>?]
  private var settings: [UnsafeMutablePointer<CChar>?]
  private var actions = posix_spawn_file_actions_t()

  init(
    _ path: String, _ arguments: [String] = [], environment: [String: String] = [:],
    input: String = "/dev/null", output: String = "/dev/null"
  ) {
    self.path = path
    let variables = ProcessInfo.processInfo.environment.merging(environment) { $1 }
    words = ([path] + arguments).map { strdup($0) } + [nil]
    settings = variables.map { strdup("\($0)=\($1)") } + [nil]
    posix_spawn_file_actions_init(&actions)
    posix_spawn_file_actions_addopen(&actions, 0, input, O_RDONLY, 0)
    posix_spawn_file_actions_addopen(&actions, 1, output, O_WRONLY | O_CREAT, 0o600)
  }

  deinit {
    posix_spawn_file_actions_destroy(&actions)
    for word in words + settings { free(word) }
  }

  /// Starts the program; nil if that fails.
  func start() -> pid_t? {
    var pid: pid_t = 0
    return posix_spawn(&pid, path, &actions, nil, &words, &settings) == 0 ? pid : nil
  }

  /// Starts the program, waits for its end, and returns its exit code; 127 if it cannot be started.
  @discardableResult
  func run() -> Int32 { start().map(Program.wait) ?? 127 }

  static func wait(for pid: pid_t) -> Int32 {
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

  /// The standard error of a program; not for time measurements.
  static func messages(
    of path: String, _ arguments: [String], _ environment: [String: String] = [:]
  )
    -> String
  {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: path)
    process.arguments = arguments
    process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
    let pipe = Pipe()
    process.standardError = pipe
    process.standardOutput = FileHandle.nullDevice
    guard (try? process.run()) != nil else { return "" }
    let text = String(decoding: pipe.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    return text
  }
}

/// A folder for one measurement.
struct Scratch: Sendable {
  /// Removed as a whole after all contests: on a file system without a journal, ext4 searches
  /// the files that were removed in the last minutes when it creates one, and some disks discard
  /// what is removed while the next subject flushes.
  private static let all = Scratch(at: NSTemporaryDirectory() + "serialq-\(UUID().uuidString)")

  let path: String

  init() { self.init(at: "\(Scratch.all.path)/\(UUID().uuidString.prefix(8))") }

  private init(at path: String) {
    self.path = path
    try? FileManager.default.createDirectory(
      atPath: path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
  }

  func remove() {
    try? FileManager.default.removeItem(atPath: path)
    sync()
  }

  static func removeAll() { all.remove() }
}

/// A command that runs until the gate is opened.
struct Gate {
  private let path: String

  init(in scratch: Scratch) {
    path = scratch.path + "/gate"
    mkfifo(path, 0o600)
  }

  var command: [String] { ["cat", path] }

  /// Unblocks the reader of the FIFO.
  ///
  /// The open call waits for the reader.
  func open() {
    close(Foundation.open(path, O_WRONLY))
  }
}

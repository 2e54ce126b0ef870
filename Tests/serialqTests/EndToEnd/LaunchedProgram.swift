import Dispatch
import Foundation
@testable import SerialqRunner
import SerialqQueue
import SerialqSystem
import TestSupport

/// The output and exit status of a program.
struct Outcome {
  var status: Ending
  var output: Bytes
  var errors: Bytes

  /// The value of `$?` in a shell.
  var code: Int32 { status.shellCode.rawValue }
  var text: String { output.text }
  var errorText: String { errors.text }
}

/// How a program is started, besides its arguments.
struct LaunchOptions {
  var environment: [Bytes]
  var directory: Bytes
  /// Its standard input; an empty file by default.
  var input: Bytes = []
  /// Shell commands that run first, in the process that becomes the program: `ulimit`, `trap`,
  /// `exec`.
  var prelude = ""
  /// Descriptors that are open on `/dev/null` at its start.
  var extraDescriptors: [Int32] = []
}

/// A started program; killed with the last reference to it.
final class LaunchedProgram: Sendable {
  let pid: Int32
  private let folder: Bytes
  /// Numbered, so that every program has its own files.
  private let number: Int
  private let hasEnded = Flag()

  /// Longer than any step of a test takes, even on a busy machine.
  static let patience = isLong || isSanitized ? 600 : 40

  /// When a wait that begins now is given up, by the monotonic clock.
  static func deadline() -> Int64 { Clock.monotonic() + Int64(patience) * 1_000_000_000 }

  /// Starts `words`, the first of which is the program's path.
  ///
  /// Through a shell, which sets the umask: concurrent tests briefly change that of this process.
  init(_ words: [Bytes], _ launchOptions: LaunchOptions, files folder: Bytes, number: Int) throws {
    self.folder = folder
    self.number = number
    try write(launchOptions.input, to: folder.appending(path: Bytes("in-\(number)".utf8)))
    let script = "umask 022; \(launchOptions.prelude)\nexec \"$0\" \"$@\""
    pid = try LaunchedProgram.spawn(
      [Bytes("/bin/sh"), Bytes("-c"), Bytes(script.utf8)] + words, launchOptions,
      input: folder.appending(path: Bytes("in-\(number)".utf8)),
      output: folder.appending(path: Bytes("out-\(number)".utf8)),
      errors: folder.appending(path: Bytes("err-\(number)".utf8)))
    let (pid, hasEnded) = (pid, hasEnded)
    // A program that hangs fails its test instead of blocking it forever.
    DispatchQueue.global().asyncAfter(deadline: .now() + .seconds(LaunchedProgram.patience)) {
      hasEnded.unlessSet { _ = kill(-pid, SIGKILL) }
    }
  }

  deinit {
    hasEnded.unlessSet {
      _ = kill(-pid, SIGKILL)
      _ = waitpid(pid, nil, 0)
    }
    hasEnded.set()
  }

  /// Its output so far.
  var output: Bytes { (try? content(folder.appending(path: Bytes("out-\(number)".utf8)))) ?? [] }
  var errors: Bytes { (try? content(folder.appending(path: Bytes("err-\(number)".utf8)))) ?? [] }

  /// Waits for its end.
  func wait() throws -> Outcome {
    let child = ChildProcess(pid: pid)
    try child.waitUntilEnded()
    // Before it is reaped: afterwards its id may be reused.
    hasEnded.set()
    return Outcome(status: try child.reap(), output: output, errors: errors)
  }

  /// Sends a signal to this process only.
  func send(_ signal: Int32) {
    hasEnded.unlessSet { _ = kill(pid, signal) }
  }

  /// Sends a signal to this process, and waits for its end.
  func end(_ signal: Int32) throws -> Outcome {
    send(signal)
    return try wait()
  }

  /// Waits until it has printed `text` on standard output.
  @discardableResult
  func waitForOutput(_ text: String) throws -> LaunchedProgram {
    try waitUntil("\(text) on standard output", watching: [folder]) {
      output.text.contains(text)
    }
    return self
  }

  /// Waits until it has printed anything on standard output.
  ///
  /// Does not read it: a program can print faster than a test under a sanitizer reads.
  func waitForAnyOutput() throws {
    let path = folder.appending(path: Bytes("out-\(number)".utf8))
    try waitUntil("standard output", watching: [folder]) {
      try FileSystem.status(of: path)?.size ?? 0 > 0
    }
  }

  /// Waits until it has printed `text` on standard error.
  @discardableResult
  func waitForErrors(_ text: String) throws -> LaunchedProgram {
    try waitUntil("\(text) on standard error", watching: [folder]) {
      errors.text.contains(text)
    }
    return self
  }

  private static func spawn(
    _ words: [Bytes], _ launchOptions: LaunchOptions, input: Bytes, output: Bytes, errors: Bytes
  ) throws -> Int32 {
    #if canImport(Glibc)
      var actions = posix_spawn_file_actions_t()
      var attributes = posix_spawnattr_t()
    #else
      var actions: posix_spawn_file_actions_t?
      var attributes: posix_spawnattr_t?
    #endif
    posix_spawn_file_actions_init(&actions)
    posix_spawnattr_init(&attributes)
    defer {
      posix_spawn_file_actions_destroy(&actions)
      posix_spawnattr_destroy(&attributes)
    }
    let new = O_WRONLY | O_CREAT | O_TRUNC | O_APPEND
    for (descriptor, path, flags) in [(0, input, O_RDONLY), (1, output, new), (2, errors, new)] {
      _ = path.withCString {
        posix_spawn_file_actions_addopen(&actions, Int32(descriptor), $0, flags, 0o600)
      }
    }
    _ = launchOptions.directory.withCString {
      posix_spawn_file_actions_addchdir_np(&actions, $0)
    }
    // Some tests leave inheritable descriptors open on purpose.
    #if canImport(Glibc)
      posix_spawn_file_actions_addclosefrom_np(&actions, 3)
      var flags = POSIX_SPAWN_SETPGROUP
    #else
      var flags = POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_CLOEXEC_DEFAULT
    #endif
    // Otherwise the program inherits the ignored and blocked signals of the test thread.
    flags |= POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK
    var signals = sigset_t()
    sigemptyset(&signals)
    posix_spawnattr_setsigmask(&attributes, &signals)
    for signal in [SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGPIPE, SIGCHLD] {
      sigaddset(&signals, signal)
    }
    posix_spawnattr_setsigdefault(&attributes, &signals)
    for descriptor in launchOptions.extraDescriptors {
      posix_spawn_file_actions_addopen(&actions, descriptor, "/dev/null", O_RDWR, 0)
    }
    posix_spawnattr_setpgroup(&attributes, 0)
    posix_spawnattr_setflags(&attributes, Int16(flags))
    var pid: pid_t = 0
    let error = words.withCStrings { words in
      launchOptions.environment.withCStrings { environment in
        posix_spawn(&pid, "/bin/sh", &actions, &attributes, words, environment)
      }
    }
    guard error == 0 else { throw Failure("posix_spawn", error, "starting the program") }
    return pid
  }
}

/// A flag that is set once; work that must not run afterwards is excluded by its lock.
final class Flag: Sendable {
  private let lock = NSLock()
  nonisolated(unsafe) private var isSet = false

  func set() { lock.withLock { isSet = true } }

  func unlessSet(_ work: () -> Void) {
    lock.withLock { if !isSet { work() } }
  }
}

/// Waits until `condition` holds; checks it again and again, for what no event reports.
func waitUntil(_ what: String, _ condition: () throws -> Bool) throws {
  let end = LaunchedProgram.deadline()
  while try !condition() {
    guard Clock.monotonic() < end else {
      throw Failure("waiting for \(what)", "it did not come", next: "See what the test waits for.")
    }
    sched_yield()
  }
}

/// Waits until `condition` holds; checks it on every event in `folders`.
func waitUntil(
  _ what: String, watching folders: [Bytes], _ condition: () throws -> Bool
) throws {
  let watch = try FileWatch(folders: folders)
  while true {
    watch.drain()
    if try condition() { return }
    if try waitForInput(on: [watch.descriptor], until: LaunchedProgram.deadline()) == [false] {
      throw Failure("waiting for \(what)", "it did not come", next: "See what the test waits for.")
    }
  }
}

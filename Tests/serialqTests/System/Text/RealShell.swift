import Foundation

@testable import SerialqSystem

/// Runs scripts in a real shell and collects what they print.
enum RealShell {
  /// The output of `script`, read by `shell` as a file: no length limit, and any bytes.
  static func output(of script: Bytes, in shell: String, _ options: [String] = []) throws -> Bytes {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let file = folder.appendingPathComponent("script")
    try Data(script).write(to: file)
    let process = Process()
    process.executableURL = URL(fileURLWithPath: shell)
    process.arguments = options + [file.path]
    process.currentDirectoryURL = folder
    process.standardInput = FileHandle.nullDevice
    let pipe = Pipe()
    process.standardOutput = pipe
    try process.run()
    let output = pipe.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    return Bytes(output)
  }
}

/// The same numbers on every run, so that a failure can be reproduced.
struct FixedRandom: RandomNumberGenerator {
  private var state: UInt64

  init(seed: UInt64) { state = seed }

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }
}

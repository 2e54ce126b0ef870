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

import Foundation

@testable import SerialqSystem

/// Runs scripts in a real shell and collects what they print.
enum RealShell {
  /// The output of `script`, read by `shell` as a file: no length limit, and any bytes.
  static func output(of script: Bytes, in shell: String, _ options: [String] = []) throws -> Bytes {
    let folder = try TemporaryFolder()
    defer { withExtendedLifetime(folder) {} }
    try write(script, to: folder.path("script"))
    let process = Process()
    process.executableURL = URL(fileURLWithPath: shell)
    process.arguments = options + [folder.path("script").text]
    process.currentDirectoryURL = URL(fileURLWithPath: folder.path.text)
    process.standardInput = FileHandle.nullDevice
    let pipe = Pipe()
    process.standardOutput = pipe
    try process.run()
    let output = pipe.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    return Bytes(output)
  }
}

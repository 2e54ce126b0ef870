import Foundation
import SerialqSystem
import TestSupport
import Testing

/// Commands and what they print: the files in `Transcripts`.
///
/// `Transcripts/README.md` explains their form.
@Suite(.beside) struct TranscriptTests {
  @Test("the commands of a transcript print what it shows", arguments: Transcript.all)
  func replay(_ transcript: Transcript) throws {
    let scene = try Scene()
    let gate = try Gate(scene)
    let printed = try withExtendedLifetime(gate) { try transcript.run(in: scene) }
    for (step, printed) in zip(transcript.steps, printed) where !step.expects(printed) {
      Issue.record(
        "\(step.command)\nprinted:\n\(printed.joined(separator: "\n"))",
        sourceLocation: SourceLocation(
          fileID: "Transcripts/\(transcript.file.lastPathComponent)",
          filePath: transcript.file.path,
          line: step.line, column: 1))
    }
    if Snapshot.areUpdated { try transcript.update(with: printed) }
  }

  // Fails if a file, a scene or a command is not found: it would not be run.
  @Test("every file has scenes with different titles, and every scene has commands")
  func found() throws {
    let files = try Transcript.files()
    #expect(!files.isEmpty)
    for file in files {
      let scenes = try Transcript.scenes(in: file)
      #expect(!scenes.isEmpty, "\(file.lastPathComponent)")
      #expect(Set(scenes.map(\.title)).count == scenes.count, "\(file.lastPathComponent)")
      for scene in scenes { #expect(!scene.steps.isEmpty, "\(scene.testDescription)") }
      let commands = try String(contentsOf: file, encoding: .utf8).split(separator: "\n")
        .count { $0.hasPrefix("$ ") }
      #expect(scenes.map(\.steps.count).reduce(0, +) == commands, "\(file.lastPathComponent)")
    }
  }

  // Fails if a difference goes unnoticed, or `…` matches more than it should.
  @Test(
    "… stands for any text of a line, and for any lines",
    arguments: [
      (["a"], ["a"], true), (["a"], ["b"], false), (["a"], [], false), ([], ["a"], false),
      (["a…c"], ["abc"], true), (["a…c"], ["ac"], true), (["a…c"], ["abcd"], false),
      (["…b…b"], ["ab"], false), (["…b…b"], ["abcb"], true), (["a…a"], ["a"], false),
      (["a", "…"], ["a"], true), (["a", "…"], ["a", "b", "c"], true),
      (["…", "c"], ["a", "b"], false),
      (["…", "b", "…"], ["a", "b", "c"], true), (["…", "…b"], ["a", "ab"], true),
    ])
  func patterns(expected: [String], printed: [String], isExpected: Bool) {
    #expect(Transcript.Step(expected: expected).expects(printed) == isExpected)
  }
}

/// Commands in a scene of their own, and the lines that they are expected to print.
struct Transcript: CustomTestStringConvertible, Sendable {
  struct Step {
    /// Its line in the file.
    var line = 0
    var command = ""
    var expected: [String] = []
  }

  let file: URL
  let title: String
  private(set) var steps: [Step] = []

  var testDescription: String { "\(file.deletingPathExtension().lastPathComponent): \(title)" }

  /// Those of all files; of those whose names begin with SERIALQ_TRANSCRIPTS, if that is set.
  static let all: [Transcript] = {
    let start = ProcessInfo.processInfo.environment["SERIALQ_TRANSCRIPTS"] ?? ""
    let chosen = try? files().filter { $0.lastPathComponent.hasPrefix(start) }
      .flatMap { try scenes(in: $0) }
    #if os(Linux)
      return chosen ?? []
    #else
      return (chosen ?? []).filter { !$0.title.hasPrefix("on Linux, ") }
    #endif
  }()

  static func files() throws -> [URL] {
    let folder = repository.appendingPathComponent("Tests/serialqTests/Transcripts")
    return try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
      .filter { $0 != "README.md" }.map { folder.appendingPathComponent($0) }
  }

  /// One for each heading of the second level, with all its console blocks.
  static func scenes(in file: URL) throws -> [Transcript] {
    var found: [Transcript] = []
    var isInBlock = false
    let lines = try String(contentsOf: file, encoding: .utf8).components(separatedBy: "\n")
    for (number, line) in lines.enumerated() {
      if line.hasPrefix("```") {
        isInBlock = line == "```console"
      } else if !isInBlock, line.hasPrefix("## ") {
        found.append(Transcript(file: file, title: String(line.dropFirst(3))))
      } else if isInBlock, let last = found.indices.last {
        found[last].read(line, number + 1)
      }
    }
    return found
  }

  private mutating func read(_ line: String, _ number: Int) {
    if line.hasPrefix("$ ") {
      steps.append(Step(line: number, command: String(line.dropFirst(2))))
    } else if let last = steps.indices.last {
      if line.hasPrefix("> "), steps[last].expected.isEmpty {
        steps[last].command += "\n\(line.dropFirst(2))"
      } else {
        steps[last].expected.append(line)
      }
    }
  }

  // MARK: Running

  /// Runs all commands in one shell; returns the lines that each printed.
  func run(in scene: Scene) throws -> [[String]] {
    let mark = "\u{1E}"
    let script = steps.map {
      "\($0.command)\ncode=$?; printf '\(mark)%s\(mark)' $code; printf '\(mark)%s\(mark)' $code >&2\n"
    }
    let file = scene.folder.path("script")
    try write(Bytes(script.joined().utf8), to: file)
    let outcome = try scene.script(". \(file.text)")
    // Output, exit code, output, …
    let output = outcome.text.components(separatedBy: mark)
    let errors = outcome.errorText.components(separatedBy: mark)
    return steps.indices.map { step in
      guard output.count > 2 * step + 1, errors.count > 2 * step + 1 else {
        return ["(was not run)"]
      }
      let code = output[2 * step + 1]
      return lines(output[2 * step], in: scene)
        + lines(errors[2 * step], in: scene).map { "! \($0)" }
        + (code == "0" ? [] : ["[\(code)]"])
    }
  }

  private func lines(_ text: String, in scene: Scene) -> [String] {
    var lines = text.replacing(scene.spool.text, with: "$SERIALQ_DIR")
      .replacing(scene.work.text, with: "$HOME")
      // Not `…`, which would also match what stands after a duration.
      .replacing(/\b\d+\.\ds\b/, with: "TIME")
      .components(separatedBy: "\n")
    let rest = lines.removeLast()
    return rest.isEmpty ? lines : lines + ["\(rest)(no newline)"]
  }

  /// The scenes of a file run beside each other: each finds its lines where the others moved them.
  private static let updates = NSLock()

  /// Writes what was printed instead of what was expected; what varies in it becomes `…`.
  func update(with printed: [[String]]) throws {
    Self.updates.lock()
    defer { Self.updates.unlock() }
    let steps = try Self.scenes(in: file).first { $0.title == title }?.steps ?? []
    var lines = try String(contentsOf: file, encoding: .utf8).components(separatedBy: "\n")
    for (step, printed) in zip(steps, printed).reversed() where !step.expects(printed) {
      let start = step.line + step.command.count { $0 == "\n" }
      lines.replaceSubrange(
        start..<start + step.expected.count,
        with: printed.map {
          $0.replacing(/\d{4}-\d\d-\d\d \d\d:\d\d:\d\d( UTC)?/, with: "…")
        })
    }
    try Data(lines.joined(separator: "\n").utf8).write(to: file)
  }
}

extension Transcript.Step {
  func expects(_ printed: [String]) -> Bool { Self.match(expected[...], printed[...]) }

  private static func match(_ expected: ArraySlice<String>, _ printed: ArraySlice<String>) -> Bool {
    guard let pattern = expected.first else { return printed.isEmpty }
    let rest = expected.dropFirst()
    guard pattern == "…" else {
      return printed.first.map { match(pattern, $0) } == true && match(rest, printed.dropFirst())
    }
    return (printed.startIndex...printed.endIndex).contains { match(rest, printed[$0...]) }
  }

  private static func match(_ pattern: String, _ line: String) -> Bool {
    let parts = pattern.components(separatedBy: "…")
    guard parts.count > 1, line.hasPrefix(parts[0]) else { return pattern == line }
    var rest = line.dropFirst(parts[0].count)
    for part in parts.dropFirst().dropLast() where !part.isEmpty {
      guard let found = rest.range(of: part) else { return false }
      rest = rest[found.upperBound...]
    }
    return rest.hasSuffix(parts[parts.count - 1])
  }
}

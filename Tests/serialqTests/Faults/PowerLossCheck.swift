import SerialqQueue
import SerialqSystem
import TestSupport
import Testing

/// Follows the changes of programs to the disk, and simulates a power loss after each.
struct PowerLossCheck {
  private var disk: Disk
  private var random: SeededGenerator
  /// The queue at the last reported success, and every state since.
  private var possible: [Queue]
  /// The same before the current command.
  private var before: [Queue] = []
  private var environments: [String: Bytes] = [:]
  private var known: [Bytes: Queue] = [:]
  private var story: [Substring] = []
  private(set) var reports = 0
  private(set) var disks = 0
  /// Whether data was lost; later losses add no information.
  private(set) var hasFailed = false

  /// Begins with the content of the folder, all of which is durable.
  init(root: Bytes, random: SeededGenerator) throws {
    disk = try Disk(root: root)
    self.random = random
    possible = []
    possible = [try now()]
    before = possible
  }

  /// The program has ended, and its caller relies on its result.
  mutating func end(_ what: String, _ outcome: Outcome) throws {
    story.append("\(what): \(outcome.code) \(outcome.errorText)"[...])
    if outcome.code == 0 {
      reports += 1
      possible = [try now()]
      try lose()
    } else if outcome.code == 125, try before.last == now() {
      // The command reported that nothing was done, so it must have no effect later.
      possible = before
      try lose()
    }
    before = possible
  }

  /// Applies what the library logged about a program.
  mutating func take(_ log: [Substring]) throws {
    for line in log where !hasFailed && disk.take(line) {
      story.append(line.prefix(160))
      let queue = try now()
      if possible.last != queue { possible.append(queue) }
      try lose()
    }
  }

  /// The queue as running programs see it.
  private mutating func now() throws -> Queue {
    let files = disk.now
    for (path, content) in files where path.hasPrefix(Self.environments) {
      environments[path] = content
    }
    return try queue(files[Self.journal] ?? [])
  }

  private static let journal = "spool/default/journal"
  private static let environments = "spool/default/env/"

  private mutating func queue(_ journal: Bytes) throws -> Queue {
    if let queue = known[journal] { return queue }
    let queue = try Replayed(journal).queue
    known[journal] = queue
    return queue
  }

  private mutating func lose() throws {
    try check(disk.tree { _ in 0 })
    try check(disk.tree { $0 - 1 })
    for _ in 0..<12 / ease {
      let tree = disk.tree { .random(in: 0..<$0, using: &random) }
      try check(tree)
    }
    for _ in 0..<(4 + ease - 1) / ease {
      let tree = disk.tree(holes: true) { .random(in: 0..<$0, using: &random) }
      try check(tree, holes: true)
    }
  }

  private mutating func check(_ files: [String: Bytes], holes: Bool = false) throws {
    guard !hasFailed else { return }
    disks += 1
    let found = try queue(files[Self.journal] ?? [])
    if let fault = fault(of: found, holes) ?? faultOfEnvironments(found, files) {
      hasFailed = true
      Issue.record("\(fault)\n\(story.suffix(60).joined(separator: "\n"))")
    }
  }

  private func fault(of found: Queue, _ holes: Bool) -> String? {
    guard found.isConsistent else { return "the queue is not consistent" }
    guard holes else {
      return possible.contains(found)
        ? nil : "\(found.gist) is none of \(possible.map(\.gist))"
    }
    // A hole may damage the end of a line that was not yet reported, but nothing else.
    let lost = possible[0].jobs.first { job in
      found.job(job.id) != job && possible.allSatisfy { $0.job(job.id) == job }
    }
    return lost.map { "job \($0.id) is not as it was" }
  }

  private func faultOfEnvironments(_ found: Queue, _ files: [String: Bytes]) -> String? {
    found.jobs.first { job in
      let path = Self.environments + job.context.environment.text
      return files[path] == nil || files[path] != environments[path]
    }.map { "the environment of job \($0.id) is not as it was" }
  }
}

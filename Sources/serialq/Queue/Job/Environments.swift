import SerialqSystem

/// The environments of jobs, each stored once in its own file.
///
/// A file holds `NAME=VALUE` and NUL for each variable. Its name is the FNV-1a hash of the content,
/// with `-1`, `-2`… appended after a hash collision, so that different environments are never
/// confused. Requires the journal's lock: compaction deletes the files that no job references.
package struct Environments: Sendable {
  let folder: QueueFolder
  let output: JournalOutput
  /// Returns 16 hexadecimal digits for a content; tests replace it to force collisions.
  var hash: @Sendable (Bytes) -> Bytes = Environments.fnv1a
  /// What was loaded last, which never changes: most jobs of a queue have the same environment.
  private var last: (key: Bytes, variables: [Bytes])?

  package init(_ folder: QueueFolder, output: JournalOutput = .system) {
    self.folder = folder
    self.output = output
  }

  /// Returns the key of these variables, whose file is durable on return.
  func store(_ variables: [Bytes], in scope: JournalScope) throws(Failure) -> Bytes {
    var content = Bytes()
    for variable in variables {
      content += variable
      content.append(0)
    }
    let hash = hash(content)
    for attempts in 0... {
      let key = attempts == 0 ? hash : hash + Bytes("-\(attempts)".utf8)
      let path = folder.environments.appending(path: key)
      guard let stored = try self.content(path) else {
        let temporary = folder.environments.appending(path: Bytes(".new"))
        try scope.replace(path, by: temporary, in: folder.environments) { (file) throws(Failure) in
          try output.write(file, content)
        }
        return key
      }
      // Never overwritten: a different file under this name, even a damaged one, may belong to
      // another job.
      if stored == content { return key }
    }
    preconditionFailure("the loop has no end")
  }

  private static let advice = "Jobs that were added with it cannot run: add them again."

  /// The variables stored under a key; fails if the file is missing or damaged.
  package func load(_ key: Bytes) throws(Failure) -> [Bytes] {
    let path = folder.environments.appending(path: key)
    guard let content = try content(path) else {
      throw Failure("the environment \(path.text)", "does not exist", next: Self.advice)
    }
    guard content.last ?? 0 == 0, key.starts(with: hash(content)) else {
      throw Failure("the environment \(path.text)", "is damaged", next: Self.advice)
    }
    return content.split(separator: 0, omittingEmptySubsequences: false).dropLast().map(Bytes.init)
  }

  /// The variables stored under a key, overridden by `others`.
  package mutating func load(_ key: Bytes, adding others: [Bytes]) throws(Failure) -> [Bytes] {
    let variables = if let last, last.key == key { last.variables } else { try load(key) }
    last = (key, variables)
    return variables.overridden(by: others)
  }

  /// Deletes every file that neither a job nor a command of the settings uses.
  func removeUnused(by queue: Queue) throws(Failure) {
    var used = Set(queue.jobs.map(\.context.environment))
    let settings = queue.settings
    for hook in [settings.onFinish, settings.onIdle, settings.onAsk] {
      if let hook { used.insert(hook.context.environment) }
    }
    for name in try FileSystem.names(in: folder.environments) where !used.contains(name) {
      try FileSystem.remove(folder.environments.appending(path: name))
    }
  }

  private func content(_ path: Bytes) throws(Failure) -> Bytes? {
    try FileDescriptor.openIfThere(path, .read)?.readAll()
  }

  private static let fnv1a: @Sendable (Bytes) -> Bytes = { content in
    var hash: UInt64 = 0xCBF2_9CE4_8422_2325
    for byte in content { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
    return Hex.digits(hash)
  }
}

extension [Bytes] {
  /// These variables with other values, of which the last one for a name counts.
  package func overridden(by others: [Bytes]) -> [Bytes] {
    guard !others.isEmpty else { return self }
    let equals = UInt8(ascii: "=")
    var last: [Bytes: Bytes] = [:]
    for variable in others { last[variable.prefix { $0 != equals } + [equals]] = variable }
    let kept = filter { variable in !last.keys.contains { variable.starts(with: $0) } }
    return kept + last.sorted { $0.key.lexicographicallyPrecedes($1.key) }.map(\.value)
  }
}

extension JournalScope {
  /// Rewrites the journal, and deletes the environments and inputs of forgotten jobs.
  ///
  /// Returns the damaged lines, as ``rewrite()`` does.
  package mutating func compact() throws(Failure) -> [DamagedLine] {
    let (queue, damaged) = try rewrite()
    // Errors are ignored: a remaining file is harmless, and the next compaction tries again.
    try? Environments(journal.folder).removeUnused(by: queue)
    try? InputCopy.removeUnused(by: queue, in: journal.folder)
    return damaged
  }

  /// Returns the key of these variables, for a line that is appended under the same lock.
  package func storeEnvironment(_ variables: [Bytes]) throws(Failure) -> Bytes {
    try Environments(journal.folder, output: journal.output).store(variables, in: self)
  }

  /// A command line with the context of this process, for a line appended under the same lock.
  package func hook(_ line: Bytes) throws(Failure) -> Hook {
    Hook(
      line: line,
      context: ExecutionContext(
        directory: try Machine.directory(),
        environment: try storeEnvironment(Machine.environment()), umask: Machine.umask()))
  }
}

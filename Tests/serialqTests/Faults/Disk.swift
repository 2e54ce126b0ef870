@testable import SerialqSystem

/// A disk that keeps flushed data, and an arbitrary part of the rest.
///
/// Driven by the log of `faults.c`. A file's content is made durable by a flush of the file, its
/// name by a flush of its folder; neither implies the other.
struct Disk {
  fileprivate typealias Node = Int

  fileprivate enum Change {
    case write(at: Int, Bytes)
    case truncate(Int)
  }

  fileprivate struct File {
    var kept: Bytes = []
    var now: Bytes = []
    /// The changes since the last flush, in order.
    var pending: [Change] = []
  }

  private struct Folder {
    var kept: [String: Node] = [:]
    var now: [String: Node] = [:]
    /// The nodes that each name has had since the last flush, without the flushed one.
    var since: [String: [Node?]] = [:]

    mutating func set(_ name: String, _ node: Node?) {
      now[name] = node
      since[name, default: []].append(node)
    }
  }

  private var files: [Node: File] = [:]
  private var folders: [Node: Folder]
  /// By the system's inode numbers, which it reuses: only of files that have a name.
  private var nodes: [Substring: Node] = ["0": 0]
  private var count = 0
  private let root: String

  /// A folder with its present content, all of which is durable.
  init(root: Bytes) throws {
    self.root = root.text + "/"
    folders = [0: Folder()]
    if let status = try FileSystem.status(of: root) { nodes["\(status.identity.inode)"] = 0 }
    try adopt(root.appending(path: Bytes("spool")))
  }

  private mutating func adopt(_ path: Bytes) throws {
    guard let status = try FileSystem.status(of: path) else { return }
    let line = "\t\(status.identity.inode)\t\(path.text)"
    if status.kind == .folder {
      _ = take("mkdir" + line)
      for name in try FileSystem.names(in: path) { try adopt(path.appending(path: name)) }
    } else {
      _ = take("create" + line)
      _ = try take("write\t\(status.identity.inode)\t0\t\(Disk.digits(content(path)))")
    }
    _ = take("flush\t\(status.identity.inode)")
    _ = take("flush\t0")
  }

  /// Applies a line of the log; returns false if the line is not a change of the disk.
  mutating func take(_ line: Substring) -> Bool {
    let words = line.split(separator: "\t", omittingEmptySubsequences: false)
    switch words[0] {
    case "create":
      if let node = add(words[1], at: words[2]) { files[node] = File() }
    case "mkdir":
      if let node = add(words[1], at: words[2]) { folders[node] = Folder() }
    case "write": change(words[1], .write(at: Int(words[2]) ?? 0, Disk.bytes(words[3])))
    case "truncate": change(words[1], .truncate(Int(words[2]) ?? 0))
    case "flush": flush(words[1])
    case "lose": lose(words[1])
    case "rename":
      guard let (from, name) = place(words[1]), let (to, target) = place(words[2]) else { break }
      let node = folders[from]?.now[name]
      forgetNumber(of: folders[to]?.now[target])
      folders[from]?.set(name, nil)
      folders[to]?.set(target, node)
    case "unlink":
      guard let (folder, name) = place(words[1]) else { break }
      forgetNumber(of: folders[folder]?.now[name])
      folders[folder]?.set(name, nil)
    default: return false
    }
    return true
  }

  private mutating func add(_ number: Substring, at path: Substring) -> Node? {
    guard let (folder, name) = place(path) else { return nil }
    count += 1
    nodes[number] = count
    folders[folder]?.set(name, count)
    return count
  }

  /// Another file may get the number of one that is removed, also the output of a command.
  ///
  /// The log does not say that it creates that. What is written to it is not written to the file
  /// that a power loss restores.
  private mutating func forgetNumber(of node: Node?) {
    if let node { nodes = nodes.filter { $0.value != node } }
  }

  private mutating func change(_ number: Substring, _ change: Change) {
    guard let node = nodes[number] else { return }
    files[node]?.pending.append(change)
    files[node]?.now.apply(change)
  }

  private mutating func flush(_ number: Substring) {
    guard let node = nodes[number] else { return }
    if let pending = files[node]?.pending {
      for change in pending { files[node]?.kept.apply(change) }
      files[node]?.pending = []
    }
    if let folder = folders[node] { folders[node] = Folder(kept: folder.now, now: folder.now) }
  }

  /// Drops data whose flush failed: it never reaches the disk, although programs still see it.
  private mutating func lose(_ number: Substring) {
    if let node = nodes[number] { files[node]?.pending = [] }
  }

  private func place(_ path: Substring) -> (folder: Node, name: String)? {
    guard path.hasPrefix(root) else { return nil }
    var parts = path.dropFirst(root.count).split(separator: "/").map(String.init)
    let name = parts.removeLast()
    var folder = 0
    for part in parts {
      guard let next = folders[folder]?.now[part] else { return nil }
      folder = next
    }
    return (folder, name)
  }

  private static func bytes(_ digits: Substring) -> Bytes {
    let digits = Array(digits.utf8)
    return stride(from: 0, to: digits.count, by: 2).map { index in
      let value = { (digit: UInt8) in digit < 58 ? digit - 48 : digit - 87 }
      return value(digits[index]) << 4 | value(digits[index + 1])
    }
  }

  private static func digits(_ bytes: Bytes) -> String {
    bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
  }

  // MARK: Contents

  /// The files by path, as running programs see them.
  var now: [String: Bytes] { tree { $0 - 1 } }

  /// The files by path, as they are after a power loss.
  ///
  /// `pick` selects one of the given number of possibilities: 0 is the state of the last flush, the
  /// last one what running programs see. With `holes`, parts of the unflushed writes are zeros.
  func tree(holes: Bool = false, _ pick: (Int) -> Int) -> [String: Bytes] {
    var found: [String: Bytes] = [:]
    collect(0, "", holes, pick, into: &found)
    return found
  }

  private func collect(
    _ node: Node, _ path: String, _ holes: Bool, _ pick: (Int) -> Int,
    into found: inout [String: Bytes]
  ) {
    if let file = files[node] {
      found[path] = file.survivor(holes, pick)
      return
    }
    guard let folder = folders[node] else { return }
    for name in Set(folder.kept.keys).union(folder.since.keys).sorted() {
      let choices = [folder.kept[name]] + (folder.since[name] ?? [])
      guard let chosen = choices[pick(choices.count)] else { continue }
      collect(chosen, path.isEmpty ? name : "\(path)/\(name)", holes, pick, into: &found)
    }
  }
}

extension Disk.File {
  /// A prefix of the pending changes, and a part of the next write.
  fileprivate func survivor(_ holes: Bool, _ pick: (Int) -> Int) -> Bytes {
    var content = kept
    let whole = pick(pending.count + 1)
    for change in pending[..<whole] {
      content.apply(holes ? change.withHoles(pick) : change)
    }
    if whole < pending.count, case .write(let offset, let bytes) = pending[whole] {
      content.apply(.write(at: offset, Bytes(bytes.prefix(pick(bytes.count + 1)))))
    }
    return content
  }
}

extension Disk.Change {
  /// The same with some sectors unwritten: the file has its full length, and zeros in their place.
  fileprivate func withHoles(_ pick: (Int) -> Int) -> Disk.Change {
    guard case .write(let offset, var bytes) = self else { return self }
    for start in stride(from: 0, to: bytes.count, by: 64) where pick(3) == 0 {
      for index in start..<min(start + 64, bytes.count) { bytes[index] = 0 }
    }
    return .write(at: offset, bytes)
  }
}

extension Array where Element == UInt8 {
  fileprivate mutating func apply(_ change: Disk.Change) {
    switch change {
    case .write(let offset, let bytes):
      if count < offset { append(contentsOf: repeatElement(0, count: offset - count)) }
      replaceSubrange(offset..<Swift.min(offset + bytes.count, count), with: bytes)
    case .truncate(let size):
      if size < count { removeLast(count - size) }
      if size > count { append(contentsOf: repeatElement(0, count: size - count)) }
    }
  }
}

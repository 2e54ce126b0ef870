/// Finds out from `proc(5)` whether a process waits to read from a terminal.
package enum TerminalReaders {
  /// Whether a process of the group waits to read from the terminal at this path.
  ///
  /// Nil if no process is known to, but one might: its user or the system hides what it waits for,
  /// as Yama does for `poll(2)`. O(processes of the system).
  package static func wait(
    on terminal: Bytes, group: Int32, proc: Bytes = Bytes("/proc")
  ) -> Bool? {
    #if os(Linux)
      guard let names = try? FileSystem.names(in: proc) else { return nil }
      let all = names.filter { Int32($0.text) != nil }.compactMap { name in
        let folder = proc.appending(path: name)
        return status(in: folder).map { Process(folder: folder, status: $0) }
      }
      let foreground = self.foreground(group, of: all)
      // Processes of other users can be invisible: see `hidepid` in proc(5).
      if foreground.isEmpty { return kill(-group, 0) == 0 || errno == EPERM ? nil : false }
      return any(foreground) { waits($0, on: terminal) }
    #else
      return nil
    #endif
  }

  private struct Process {
    /// In `/proc`.
    var folder: Bytes
    var status: ProcessStatus
  }

  /// The processes of the group, and those that they started in another session, as `su -c` does.
  ///
  /// The others in the session are in the background: the system stops them when they read.
  private static func foreground(_ group: Int32, of all: [Process]) -> [Process] {
    var found = all.filter { $0.status.group == group }
    let sessions = Set(found.map(\.status.session))
    var others = all.filter { !sessions.contains($0.status.session) }
    var parents = Set(found.map(\.status.pid))
    while true {
      let started = others.filter { parents.contains($0.status.parent) }
      if started.isEmpty { return found }
      found += started
      parents = Set(started.map(\.status.pid))
      others.removeAll { parents.contains($0.status.pid) }
    }
  }

  /// Whether the answer is true for an element; nil if it is unknown for one, and false for the
  /// others.
  private static func any<Element>(
    _ elements: some Sequence<Element>, _ answer: (Element) -> Bool?
  ) -> Bool? {
    var result: Bool? = false
    for element in elements {
      switch answer(element) {
      case true?: return true
      case false?: break
      case nil: result = nil
      }
    }
    return result
  }

  private static func waits(_ process: Process, on terminal: Bytes) -> Bool? {
    let folder = process.folder
    guard let descriptors = OpenDescriptors(in: folder, terminal: terminal) else {
      return process.status.isAsleep ? nil : false
    }
    if !descriptors.hasTerminals { return false }
    let tasks = folder.appending(path: Bytes("task"))
    guard let threads = try? FileSystem.names(in: tasks) else { return nil }
    return any(threads) { thread in
      let path = tasks.appending(path: thread)
      guard status(in: path)?.isAsleep == true else { return false }
      if let wait = content(of: path, "syscall").flatMap({ KernelWait($0, .own) }) {
        return isRead(wait, by: folder, descriptors)
      }
      return isRead(WaitChannel(content(of: path, "wchan") ?? []), by: folder, descriptors)
    }
  }

  /// Whether a thread in this system call waits for one of the descriptors of the terminal.
  private static func isRead(
    _ wait: KernelWait, by process: Bytes, _ descriptors: OpenDescriptors
  ) -> Bool? {
    switch wait {
    case .read(let descriptor): descriptors.hasTerminal(in: [descriptor])
    case .poll(let list):
      memory(of: process, list).map { descriptors.hasTerminal(in: KernelWait.polled(in: $0)) }
    case .select(let set):
      memory(of: process, set).map { descriptors.hasTerminal(in: KernelWait.selected(in: $0)) }
    case .epoll(let descriptor): isRead(epolls: [descriptor], by: process, descriptors)
    case .other: false
    }
  }

  /// Whether a thread that sleeps in this function of the kernel waits for the terminal.
  private static func isRead(
    _ channel: WaitChannel, by process: Bytes, _ descriptors: OpenDescriptors
  ) -> Bool? {
    switch channel {
    case .terminal: true
    case .terminalOrSocket: descriptors.hasSockets ? nil : true
    case .epoll: isRead(epolls: descriptors.epolls, by: process, descriptors)
    case .poll, .unknown: nil
    case .other: false
    }
  }

  private static func isRead(
    epolls: some Sequence<Int32>, by process: Bytes, _ descriptors: OpenDescriptors
  ) -> Bool? {
    any(epolls) { epoll in
      content(of: process, "fdinfo/\(epoll)").map {
        descriptors.hasTerminal(in: KernelWait.watched(in: $0))
      }
    }
  }

  private static func status(in folder: Bytes) -> ProcessStatus? {
    content(of: folder, "stat").flatMap { ProcessStatus(line: $0) }
  }

  private static func content(of folder: Bytes, _ name: String) -> Bytes? {
    let path = folder.appending(path: Bytes(name.utf8))
    return try? FileDescriptor.openIfThere(path, .read, followingLinks: true)?.readAll()
  }

  /// A piece of the memory of the process; nil if it cannot be read.
  private static func memory(of process: Bytes, _ piece: KernelWait.Memory) -> Bytes? {
    if piece.count == 0 { return [] }
    let path = process.appending(path: Bytes("mem"))
    guard let address = Int64(exactly: piece.address),
      let file = try? FileDescriptor.openIfThere(path, .read, followingLinks: true),
      let bytes = try? file.bytes(from: address, piece.count), bytes.count == piece.count
    else { return nil }
    return bytes
  }
}

/// The descriptors of a process through which it can wait for a terminal.
private struct OpenDescriptors {
  private var terminals: Set<Int32> = []
  private(set) var epolls: [Int32] = []
  private(set) var hasSockets = false

  /// Nil if this user cannot see them; `process` is its folder in `/proc`.
  init?(in process: Bytes, terminal: Bytes) {
    let folder = process.appending(path: Bytes("fd"))
    guard let names = try? FileSystem.names(in: folder) else { return nil }
    for name in names {
      guard let number = Int32(name.text),
        let target = FileSystem.target(of: folder.appending(path: name))
      else { continue }
      if target == terminal || target == Bytes("/dev/tty") {
        terminals.insert(number)
      } else if target == Bytes("anon_inode:[eventpoll]") {
        epolls.append(number)
      } else if target.starts(with: Bytes("socket:")) {
        hasSockets = true
      }
    }
  }
  var hasTerminals: Bool { !terminals.isEmpty }

  /// Whether one of these descriptors is one of the terminal.
  func hasTerminal(in descriptors: Set<Int32>) -> Bool {
    !terminals.isDisjoint(with: descriptors)
  }
}

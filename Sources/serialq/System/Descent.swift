/// Which processes descend from that of a job, whatever they have closed or left.
package struct Descent: Sendable {
  /// The variables that each process of the job has, unless it has cleared its environment.
  private let variables: [Bytes]
  /// Whether this process is the parent of the job's process, and adopts its descendants.
  private let adopts: Bool

  package init(variables: [Bytes], adopts: Bool) {
    self.variables = variables
    self.adopts = adopts
  }

  /// A process, its descendants, and those that this process adopted since that one started.
  ///
  /// Not what an earlier job left behind, nor the runner and the jobs of another queue. In the
  /// session of this process, only what has the job's variables: the others can descend from
  /// children that it had before, such as those of the shell that it replaced.
  func processes(of leader: Int32, among all: [ProcessStatus]) -> [ProcessStatus] {
    let first = (try? ProcessStatus.found(leader, isZombieToo: true)) ?? nil
    guard let first else { return [] }
    let (own, session) = (Machine.processID(), getsid(0))
    var children: [Int32: [ProcessStatus]] = [:]
    for process in all { children[process.parent, default: []].append(process) }
    var found: [ProcessStatus] = []
    var next = all.filter { $0.pid == leader }
    if adopts {
      next += (children[own] ?? []).filter {
        $0.pid != leader && $0.identity.started >= first.identity.started
          && ($0.session != session || origin(of: $0.pid) == .job)
      }
    }
    while let process = next.popLast() {
      if isForeign(process.pid) { continue }
      found.append(process)
      next += children[process.pid] ?? []
    }
    return found
  }

  /// Whether the environment of a process says that it works for serialq itself, or belongs to
  /// another job.
  package func isForeign(_ pid: Int32) -> Bool { origin(of: pid) == .other }

  private enum Origin { case job, other, unknown }

  /// What the environment of a process says of its origin, if this user can read it.
  private func origin(of pid: Int32) -> Origin {
    let path = Bytes("/proc/\(pid)/environ".utf8)
    let file = try? FileDescriptor.openIfThere(path, .read, followingLinks: true)
    guard let all = (try? file?.readAll())?.split(separator: 0) else { return .unknown }
    // The whole environment of a runner and of a keeper.
    if all.count == 1, all[0].starts(with: Bytes("SERIALQ_DIR=")) { return .other }
    var isOwn = true
    for own in variables {
      let name = own.prefix { $0 != UInt8(ascii: "=") } + [UInt8(ascii: "=")]
      let found = all.filter { $0.starts(with: name) }
      guard found.allSatisfy({ $0.elementsEqual(own) }) else { return .other }
      if found.isEmpty { isOwn = false }
    }
    return isOwn ? .job : .unknown
  }
}

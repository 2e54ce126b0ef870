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
  /// Not what an earlier job left behind, nor what this process had as children before, nor the runner
  /// and the jobs of another queue.
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
        $0.pid != leader && $0.session != session && $0.identity.started >= first.identity.started
      }
    }
    while let process = next.popLast() {
      if isForeign(process.pid) { continue }
      found.append(process)
      next += children[process.pid] ?? []
    }
    return found
  }

  /// Whether the environment of a process says that it works for serialq itself, or belongs to another job.
  ///
  /// False if this user cannot read it.
  package func isForeign(_ pid: Int32) -> Bool {
    let path = Bytes("/proc/\(pid)/environ".utf8)
    let file = try? FileDescriptor.openIfThere(path, .read, followingLinks: true)
    guard let all = (try? file?.readAll())?.split(separator: 0) else { return false }
    // The whole environment of a runner and of a keeper.
    if all.count == 1, all[0].starts(with: Bytes("SERIALQ_DIR=")) { return true }
    return variables.contains { own in
      let name = own.prefix { $0 != UInt8(ascii: "=") } + [UInt8(ascii: "=")]
      return all.contains { $0.starts(with: name) && !$0.elementsEqual(own) }
    }
  }
}

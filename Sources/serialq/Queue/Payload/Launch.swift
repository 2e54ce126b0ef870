import SerialqSystem

/// An attempt that a launcher executes, and what the launcher reported about it.
package struct Launch: Equatable, Sendable {
  /// The command of the queue's settings, as a line for the shell.
  package var command: Bytes
  /// What the engine behind the launcher calls the job.
  package var job: Bytes?
  /// Where the engine executes it.
  package var node: Bytes?
  /// When the engine began to execute it, by the clock of the launcher.
  package var started: Timestamp?
  /// Why the end of the job is unknown, once the launcher has ended; as text.
  package var lost: Bytes?

  /// `serialq-slurm, job 4711, node n2`.
  package var text: String {
    let name = command.split(separator: UInt8(ascii: " ")).first.map { Bytes($0) } ?? command
    let parts = [Visible.text(name), job.map { "job \(Visible.text($0))" }, nodeText]
    return parts.compactMap(\.self).joined(separator: ", ")
  }

  private var nodeText: String? { node.map { "node \(Visible.text($0))" } }
}

extension Launch {
  package init(command: Bytes) { self.init(command: command, job: nil) }

  static func code(_ launch: inout Launch?, _ coder: inout LineCoder) throws(FlatObjectError) {
    var command = launch?.command
    try coder.bytes("launcher", &command)
    guard let command else { return launch = nil }
    var new = launch ?? Launch(command: command)
    try coder.bytes("launchJob", &new.job)
    try coder.bytes("node", &new.node)
    try coder.time("begun", &new.started)
    try coder.bytes("lost", &new.lost)
    launch = new
  }
}

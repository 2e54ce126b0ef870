/// Where a job is on its way.
enum JobState: UInt8, CaseIterable, Sendable {
  /// → running, cancelled; and by events that outlived a damaged one, anything that running leads
  /// to.
  case waiting
  /// → succeeded, failed, killed, interrupted, cancelled.
  case running
  /// Exited with 0. The end.
  case succeeded
  /// Exited with another code, or could not be run. The end, until it is started again.
  case failed
  /// Ended by a signal that serialq did not send. The end, until it is started again.
  case killed
  /// How it ended is not known, because its runner died. The end, until it is started again.
  case interrupted
  /// Told not to run, or to stop. The end, until it is started again.
  case cancelled
}

/// A job of a queue, as the events so far give it.
///
/// Kept small: a hundred thousand of them must fit a runner of 40 MB. What only a job that was
/// started has is apart.
struct Job: Equatable, Sendable {
  let id: JobID
  var state: JobState
  var umask: UInt16
  var command: Command
  var directory: Bytes
  /// The key of ``Environments``.
  var environment: Bytes
  var label: Bytes?
  var added: Timestamp
  private var box: Box?

  init(_ new: NewJob) {
    id = new.id
    state = .waiting
    umask = new.umask
    command = new.command
    directory = new.directory
    environment = new.environment
    label = new.label
    added = new.at
  }

  /// What is known of its last attempt; nil when it never ran.
  var run: Run? {
    get { box?.run }
    set { box = newValue.map(Box.init) }
  }

  /// An attempt at a job.
  struct Run: Equatable, Sendable {
    /// From 1 on; 0 for one that was cancelled before it ever ran.
    var attempt = 1
    /// Nil when the line that said so was damaged.
    var started: Timestamp?
    var boot: Bytes?
    /// Only while it runs.
    var pid: Int32?
    /// When it ended, or was found interrupted, or was cancelled.
    var ended: Timestamp?
    /// In nanoseconds.
    var duration: Int64?
    /// Nil for one that was interrupted, or cancelled before it ran.
    var how: Ending?
  }

  /// Keeps what only few jobs have out of all of them.
  private final class Box: Equatable, Sendable {
    let run: Run
    init(_ run: Run) { self.run = run }
    static func == (left: Box, right: Box) -> Bool { left.run == right.run }
  }
}

import SerialqSystem

/// What a job is asked to do; constant, unless `edit` changes it.
package struct JobSpec: Equatable, Sendable {
  package var command: Command
  package var context: ExecutionContext
  /// When the job was added.
  package private(set) var added: Timestamp
  /// Nil for most jobs, which keeps a job small.
  private var box: Box?

  package init(
    _ command: Command, in context: ExecutionContext, _ details: Details = .none,
    added: Timestamp
  ) {
    self.command = command
    self.context = context
    self.added = added
    self.details = details
  }

  /// What most jobs do without.
  package struct Details: Equatable, Sendable {
    package var label: Bytes?
    package var input: Input?
    /// The terminal that the job has in any case; nil to do as the queue's settings say.
    package var terminal: JobTerminal?
    /// Identifies the call that added the job; nil if it gave none.
    package var key: Bytes?
    package var limits = Limits.none

    package static let none = Self()
  }

  /// A class, so that one property is read without a copy of all.
  private final class Box: Equatable, Sendable {
    let details: Details

    init(_ details: Details) { self.details = details }

    static func == (one: Box, other: Box) -> Bool { one.details == other.details }
  }

  package var details: Details {
    get { box?.details ?? .none }
    set { box = newValue == .none ? nil : Box(newValue) }
  }

  // Of these, lists need many.
  var label: Bytes? { box?.details.label }
  var input: Input? { box?.details.input }
  var terminal: JobTerminal? { box?.details.terminal }
  var key: Bytes? { box?.details.key }
  var limits: Limits { box?.details.limits ?? .none }

  /// Drops the job itself and later ones, which a hand-edited line could require: there would be a
  /// cycle.
  mutating func keepRequirements(below id: JobID) {
    guard let last = box?.details.limits.after.last, last.upperBound >= id else { return }
    details.limits.after = limits.after.filter { $0.lowerBound < id }.map {
      $0.lowerBound...min($0.upperBound, id - 1)
    }
  }
}

/// The conditions, timeout and retries of a job; most jobs have none.
package struct Limits: Equatable, Sendable {
  /// In seconds; 0 for no timeout.
  package var timeout = 0
  /// The number of automatic retries after a failure.
  package var retries = 0
  /// Seconds to wait before each retry.
  package var retryDelay = 0
  /// Whether the job is skipped unless the previous job succeeded.
  package var ifOK = false
  /// The job is skipped unless all of these succeeded; ascending, and lower than its own id.
  ///
  /// Without those that succeeded and were forgotten: one that is missing did not succeed.
  package var after: [ClosedRange<JobID>] = []

  package static let none = Limits()
}

/// What a command inherits from the call that recorded it.
package struct ExecutionContext: Equatable, Sendable {
  package var directory: Bytes
  /// The key in ``Environments``.
  package var environment: Bytes
  package var umask: UInt16

  package init(directory: Bytes, environment: Bytes, umask: UInt16) {
    self.directory = directory
    self.environment = environment
    self.umask = umask
  }
}

/// The on-finish command, run when a job has ended, or the on-idle or the on-ask command.
package struct Hook: Equatable, Sendable {
  package var line: Bytes
  package var context: ExecutionContext
}

// MARK: - Coding

extension JobSpec {
  /// To be read.
  static let unread = JobSpec(.shell([]), in: .unread, added: .epoch)

  mutating func code(_ coder: inout LineCoder) throws(FlatObjectError) {
    try coder.time("added", &added)
    try command.code(&coder)
    try context.code(("directory", "environment", "umask"), &coder)
    if coder.isReading ? coder.hasMore : box != nil { try details.code(&coder) }
  }
}

extension JobSpec.Details {
  fileprivate mutating func code(_ coder: inout LineCoder) throws(FlatObjectError) {
    try coder.bytes("label", &label)
    try Input.code(&input, &coder)
    try coder.text("terminal", &terminal, { Bytes($0.text.utf8) }, JobTerminal.init)
    try coder.bytes("key", &key)
    try limits.code(&coder)
  }
}

extension Limits {
  fileprivate mutating func code(_ coder: inout LineCoder) throws(FlatObjectError) {
    try coder.count("timeout", &timeout)
    try coder.count("retries", &retries)
    try coder.count("retryDelay", &retryDelay)
    try coder.flag("ifOk", &ifOK)
    try coder.ranges("requires", &after)
  }
}

extension ExecutionContext {
  /// To be read.
  fileprivate static let unread = ExecutionContext(directory: [], environment: [], umask: 0)

  /// Codes a context whose members have these names: a line can have four.
  fileprivate mutating func code(
    _ names: (directory: StaticString, environment: StaticString, umask: StaticString),
    _ coder: inout LineCoder
  ) throws(FlatObjectError) {
    try coder.bytes(names.directory, &directory)
    try coder.bytes(names.environment, &environment)
    try coder.number(names.umask, &umask, 0...0o777)
  }
}

extension Hook {
  /// Codes a command whose members have these names.
  static func code(
    _ hook: inout Hook?,
    _ names: (
      line: StaticString, directory: StaticString, environment: StaticString, umask: StaticString
    ),
    _ coder: inout LineCoder
  ) throws(FlatObjectError) {
    var line = hook?.line
    try coder.bytes(names.line, &line)
    guard let line else { return hook = nil }
    var context = hook?.context ?? .unread
    try context.code((names.directory, names.environment, names.umask), &coder)
    hook = Hook(line: line, context: context)
  }
}

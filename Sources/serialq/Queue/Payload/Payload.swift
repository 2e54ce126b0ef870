import SerialqSystem

/// What a shell job adds to a job of a queue.
package struct Payload: Equatable, Sendable {
  package var command: Command
  package var context: ExecutionContext
  /// Nil for most jobs, which keeps a job small.
  private var box: Box?

  package init(
    _ command: Command, in context: ExecutionContext, label: Bytes? = nil, input: Input? = nil,
    terminal: JobTerminal? = nil, key: Bytes? = nil
  ) {
    self.command = command
    self.context = context
    rare = Rare(label: label, input: input, terminal: terminal, key: key)
  }

  package var label: Bytes? {
    get { rare.label }
    set { rare.label = newValue }
  }

  package var input: Input? { rare.input }

  /// The terminal that the job has in any case; nil to do as the queue's settings say.
  package var terminal: JobTerminal? {
    get { rare.terminal }
    set { rare.terminal = newValue }
  }

  /// Identifies the call that added the job; nil if it gave none.
  package var key: Bytes? { rare.key }

  private struct Rare: Equatable, Sendable {
    var label: Bytes?
    var input: Input?
    var terminal: JobTerminal?
    var key: Bytes?
  }

  private indirect enum Box: Equatable, Sendable {
    case rare(Rare)
  }

  private var rare: Rare {
    get { if case .rare(let rare)? = box { rare } else { Rare() } }
    set { box = newValue == Rare() ? nil : .rare(newValue) }
  }
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

  package init(line: Bytes, in context: ExecutionContext) {
    self.line = line
    self.context = context
  }
}

extension Payload {
  func encode(to json: inout JSONWriter) {
    command.encode(to: &json)
    context.encode(to: &json)
    if let label { json.member("label", label) }
    input?.encode(to: &json)
    terminal?.encode(to: &json)
    if let key { json.member("key", key) }
  }

  init(
    from object: inout FlatObject, sharing shared: inout SharedBytes
  ) throws(FlatObjectError) {
    command = try Command(from: &object)
    context = try ExecutionContext(from: &object, sharing: &shared)
    rare = Rare(
      label: try object.optionalBytes("label"), input: try Input(from: &object),
      terminal: try JobTerminal(from: &object), key: try object.optionalBytes("key"))
  }
}

extension ExecutionContext {
  func encode(to json: inout JSONWriter) {
    json.member("directory", directory)
    json.member("environment", environment)
    json.member("umask", Int(umask))
  }

  init(
    from object: inout FlatObject, sharing shared: inout SharedBytes
  ) throws(FlatObjectError) {
    directory = try object.bytes("directory", sharedIn: &shared)
    environment = try object.bytes("environment", sharedIn: &shared)
    umask = UInt16(try object.number("umask", 0...0o777))
  }
}

extension Hook {
  static func encode(_ hook: Hook?, as name: StaticString, to json: inout JSONWriter) {
    json.member(name, hook?.line ?? [])
    hook?.context.encode(to: &json)
  }

  /// Returns nil if the command was removed.
  init?(
    from object: inout FlatObject, named name: StaticString, sharing shared: inout SharedBytes
  ) throws(FlatObjectError) {
    line = try object.bytes(name)
    if line.isEmpty { return nil }
    context = try ExecutionContext(from: &object, sharing: &shared)
  }
}

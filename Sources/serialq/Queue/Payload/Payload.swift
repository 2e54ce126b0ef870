import SerialqSystem

/// What a shell job adds to a job of a queue.
package struct Payload: Equatable, Sendable {
  package var command: Command
  package var context: ExecutionContext
  package var label: Bytes?

  package init(_ command: Command, in context: ExecutionContext, label: Bytes? = nil) {
    self.command = command
    self.context = context
    self.label = label
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

/// The on-finish command, run when a job has ended.
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
  }

  init(
    from object: inout FlatObject, sharing shared: inout SharedBytes
  ) throws(FlatObjectError) {
    command = try Command(from: &object)
    context = try ExecutionContext(from: &object, sharing: &shared)
    label = try object.optionalBytes("label")
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
  func encode(to json: inout JSONWriter) {
    json.member("onFinish", line)
    context.encode(to: &json)
  }

  /// Returns nil if there is no on-finish command.
  init?(
    from object: inout FlatObject, sharing shared: inout SharedBytes
  ) throws(FlatObjectError) {
    line = try object.bytes("onFinish")
    if line.isEmpty { return nil }
    context = try ExecutionContext(from: &object, sharing: &shared)
  }
}

/// The number of a job in its queue, from 1 on, never used twice.
typealias JobID = Int

/// What a job runs.
enum Command: Hashable, Sendable {
  /// A command line for `/bin/sh -c`.
  case shell(Bytes)
  /// A program and its arguments, passed on exactly.
  case arguments([Bytes])
}

/// How a job's process ended, as far as it was seen.
enum Ending: Equatable, Sendable {
  case exited(Int32)
  /// By the signal of this number.
  case killed(Int32)
  /// There was no process: the exit code of the job, and why.
  case cannotRun(Int32, reason: Bytes)
}

/// What `add` writes down of a job.
struct NewJob: Equatable, Sendable {
  var id: JobID
  var command: Command
  var directory: Bytes
  /// The key of ``Environments``.
  var environment: Bytes
  var umask: UInt16
  var label: Bytes?
  var at: Timestamp
}

/// What happened to a queue; its state is what the events give, one after another.
///
/// A new kind of event is one case here, one branch in each of ``encode(to:)`` and
/// ``init(from:sharing:)``, and one in ``Queue/apply(_:)``.
enum Event: Equatable, Sendable {
  case added(NewJob)
  /// Flushed before the process is made. `boot` tells a process of this start of the machine from
  /// one before.
  case started(id: JobID, attempt: Int, at: Timestamp, boot: Bytes)
  case spawned(id: JobID, pid: Int32)
  /// `duration` is in nanoseconds of the monotonic clock; `cancelled` when it ended because it was
  /// told to.
  case ended(id: JobID, at: Timestamp, duration: Int64, how: Ending, cancelled: Bool)
  /// It was running when its runner or the machine died.
  case interrupted(id: JobID, at: Timestamp)
  /// It was waiting and will never run.
  case cancelled(id: JobID, at: Timestamp)
  /// The first line of a journal that was written anew; holds the next free id if nothing else
  /// does.
  case compacted(at: Timestamp)
}

/// An event as a line of the journal has it.
struct Record: Equatable, Sendable {
  var event: Event
  /// The next free id after this event.
  var next: JobID
  /// How many lines of the same batch are still to come.
  var more: Int
}

extension Event {
  /// Writes the members that make the event; `v` stands before them, `next`, `more` and `sum`
  /// after.
  func encode(to json: inout JSONWriter) {
    switch self {
    case .added(let job):
      json.head("added", job.id, job.at)
      switch job.command {
      case .shell(let line): json.member("shell", line)
      case .arguments(let words):
        json.key("command")
        json.array { json in words.forEach { json.string($0) } }
      }
      json.member("directory", job.directory)
      json.member("environment", job.environment)
      json.member("umask", Int(job.umask))
      if let label = job.label { json.member("label", label) }
    case .started(let id, let attempt, let at, let boot):
      json.head("started", id, at)
      json.member("attempt", attempt)
      json.member("boot", boot)
    case .spawned(let id, let pid):
      json.head("spawned", id, nil)
      json.member("pid", Int(pid))
    case .ended(let id, let at, let duration, let how, let cancelled):
      json.head("ended", id, at)
      json.member("duration", Int(duration))
      how.encode(to: &json)
      if cancelled { json.member("cancelled", true) }
    case .interrupted(let id, let at): json.head("interrupted", id, at)
    case .cancelled(let id, let at): json.head("cancelled", id, at)
    case .compacted(let at): json.head("compacted", nil, at)
    }
  }

  /// Takes the members that make an event; nil when this version does not know its name.
  init?(
    from object: inout FlatObject,
    sharing shared: inout SharedBytes
  ) throws(FlatObjectError) {
    let name = try object.word("e")
    if name.spells("added") {
      self = .added(try NewJob(from: &object, sharing: &shared))
    } else if name.spells("started") {
      self = .started(
        id: try object.id(), attempt: try object.number("attempt", 1...Int(Int32.max)),
        at: try object.time(), boot: try object.bytes("boot", sharedIn: &shared))
    } else if name.spells("spawned") {
      self = .spawned(
        id: try object.id(), pid: Int32(try object.number("pid", 1...Int(Int32.max))))
    } else if name.spells("ended") {
      self = .ended(
        id: try object.id(), at: try object.time(),
        duration: Int64(try object.number("duration", 0...Int.max)),
        how: try Ending(from: &object), cancelled: try object.flag("cancelled"))
    } else if name.spells("interrupted") {
      self = .interrupted(id: try object.id(), at: try object.time())
    } else if name.spells("cancelled") {
      self = .cancelled(id: try object.id(), at: try object.time())
    } else if name.spells("compacted") {
      self = .compacted(at: try object.time())
    } else {
      return nil
    }
  }
}

extension NewJob {
  fileprivate init(
    from object: inout FlatObject,
    sharing shared: inout SharedBytes
  ) throws(FlatObjectError) {
    id = try object.id()
    at = try object.time()
    if let line = try object.optionalBytes("shell") {
      command = .shell(line)
    } else {
      command = .arguments(try object.list("command"))
    }
    directory = try object.bytes("directory", sharedIn: &shared)
    environment = try object.bytes("environment", sharedIn: &shared)
    umask = UInt16(try object.number("umask", 0...0o777))
    label = try object.optionalBytes("label")
  }
}

extension Ending {
  fileprivate func encode(to json: inout JSONWriter) {
    switch self {
    case .exited(let code): json.member("exit", Int(code))
    case .killed(let signal): json.member("signal", Int(signal))
    case .cannotRun(let code, let reason):
      json.member("cannot", Int(code))
      json.member("reason", reason)
    }
  }

  fileprivate init(from object: inout FlatObject) throws(FlatObjectError) {
    if object.has("exit") {
      self = .exited(Int32(try object.number("exit", 0...Int(Int32.max))))
    } else if object.has("signal") {
      self = .killed(Int32(try object.number("signal", 1...1024)))
    } else {
      self = .cannotRun(
        Int32(try object.number("cannot", 0...255)), reason: try object.bytes("reason"))
    }
  }
}

extension JSONWriter {
  fileprivate mutating func head(_ name: StaticString, _ id: JobID?, _ at: Timestamp?) {
    key("e")
    string(name.withUTF8Buffer { Bytes($0) })
    if let id { member("id", id) }
    if let at { member("at", at.rfc3339) }
  }
}

extension FlatObject {
  /// A number within limits, so that nothing computed from it later can overflow.
  mutating func number(
    _ name: StaticString,
    _ limits: ClosedRange<Int>
  ) throws(FlatObjectError) -> Int {
    let number = try int(name)
    guard limits ~= number else { throw .malformed }
    return number
  }

  /// Up to 2^53, which `jq` and JavaScript can still hold exactly.
  static var ids: ClosedRange<Int> { 1...1 << 53 }

  fileprivate mutating func id() throws(FlatObjectError) -> JobID {
    try number("id", FlatObject.ids)
  }

  fileprivate mutating func time() throws(FlatObjectError) -> Timestamp {
    guard let time = Timestamp(rfc3339: try word("at")) else { throw .malformed }
    return time
  }
}

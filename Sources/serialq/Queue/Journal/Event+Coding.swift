import SerialqSystem

extension Event {
  /// Writes the members of the event; the line adds `v` before and `next`, `more` and `sum` after
  /// them.
  func encode(to json: inout JSONWriter) {
    switch self {
    case .added(let job): job.encode(to: &json)
    case .retried(let retry): retry.encode(to: &json)
    case .started(let id, let attempt, let at, let boot, let uptime, let hasTerminal):
      json.head("started", id, at)
      json.member("attempt", attempt)
      json.member("boot", boot)
      if let uptime { json.member("uptime", Int(uptime)) }
      if hasTerminal { json.member("terminal", true) }
    case .spawned(let id, let pid):
      json.head("spawned", id, nil)
      json.member("pid", Int(pid))
    case .ended(let id, let at, let duration, let how, let cause):
      json.head("ended", id, at)
      json.member("duration", Int(duration))
      how.encode(to: &json)
      switch cause {
      case .itself: break
      case .cancelled: json.member("cancelled", true)
      case .timedOut: json.member("timedOut", true)
      }
    case .interrupted(let id, let at, let stopped):
      json.head("interrupted", id, at)
      if stopped { json.member("stopped", true) }
    case .cancelling(let id, let at, let signal):
      json.head("cancelling", id, at)
      json.member("signal", Int(signal))
    case .suspended(let id, let at, let uptime):
      json.head("suspended", id, at)
      json.member("uptime", Int(uptime))
    case .continued(let id, let at, let uptime):
      json.head("continued", id, at)
      json.member("uptime", Int(uptime))
    case .left(let id, let processes):
      json.head("left", id, nil)
      json.member("processes", processes)
    case .asked(let id, let at, let question):
      json.head("asked", id, at)
      question?.encode(to: &json)
    case .unlogged(let id, let reason):
      json.head("unlogged", id, nil)
      json.member("reason", reason)
    case .launched(let id, let launch):
      json.head("launched", id, nil)
      launch.encode(to: &json)
    case .cancelled(let id, let at): json.head("cancelled", id, at)
    case .skipped(let id, let at, let because):
      json.head("skipped", id, at)
      json.member("because", because)
    case .moved(let id, let at, let place):
      json.head("moved", id, at)
      place.encode(to: &json)
    case .edited(let id, let at, let command, let options):
      json.head("edited", id, at)
      command.encode(to: &json)
      options?.encode(to: &json)
    case .acknowledged(let id, let at): json.head("acknowledged", id, at)
    case .hookFailed(let id, let at, let how):
      json.head("hookFailed", id, at)
      how.encode(to: &json)
    case .counted(let results, let at):
      json.head("counted", nil, at)
      results.encode(to: &json)
    case .forgotten(let ids, let at):
      json.head("forgotten", nil, at)
      json.member("ids", ids)
    case .paused(let at, let because):
      json.head("paused", nil, at)
      if let because { json.member("because", because) }
    case .resumed(let at): json.head("resumed", nil, at)
    case .set(let setting, let at):
      json.head("set", nil, at)
      setting.encode(to: &json)
    case .compacted(let at): json.head("compacted", nil, at)
    case .previous(let id, let succeeded):
      json.head("previous", id, nil)
      if succeeded { json.member("succeeded", true) }
    }
  }

  /// Reads the members of an event in the order of writing; fails if this version does not know its
  /// name.
  init(
    from object: inout FlatObject,
    sharing shared: inout SharedBytes
  ) throws(FlatObjectError) {
    switch try object.word("e") {
    case "added": self = .added(try NewJob(from: &object, sharing: &shared))
    case "started":
      let (id, at) = (try object.id(), try object.time())
      self = .started(
        id: id, attempt: try object.number("attempt", 1...Int(Int32.max)), at: at,
        boot: try object.bytes("boot", sharedIn: &shared),
        uptime: object.has("uptime") ? try object.uptime() : nil,
        hasTerminal: try object.flag("terminal"))
    case "spawned":
      let id = try object.id()
      self = .spawned(id: id, pid: Int32(try object.number("pid", 1...Int(Int32.max))))
    case "ended":
      self = .ended(
        id: try object.id(), at: try object.time(),
        duration: Int64(try object.number("duration", 0...Int.max)),
        how: try Ending(from: &object), cause: try EndCause(from: &object))
    case "interrupted":
      self = .interrupted(
        id: try object.id(), at: try object.time(), stopped: try object.flag("stopped"))
    case "cancelling":
      self = .cancelling(id: try object.id(), at: try object.time(), signal: try object.signal())
    case "suspended":
      self = .suspended(
        id: try object.id(), at: try object.time(), uptime: try object.uptime())
    case "continued":
      self = .continued(
        id: try object.id(), at: try object.time(), uptime: try object.uptime())
    case "left": self = .left(id: try object.id(), processes: try object.bytes("processes"))
    case "asked":
      self = .asked(
        id: try object.id(), at: try object.time(), question: try Question(from: &object))
    case "unlogged": self = .unlogged(id: try object.id(), reason: try object.bytes("reason"))
    case "launched": self = .launched(id: try object.id(), try Launch(from: &object))
    case "cancelled": self = .cancelled(id: try object.id(), at: try object.time())
    case "skipped":
      let (id, at) = (try object.id(), try object.time())
      self = .skipped(id: id, at: at, because: try object.id("because"))
    case "retried": self = .retried(try Retry(from: &object))
    case "moved":
      self = .moved(id: try object.id(), at: try object.time(), place: try Place(from: &object))
    case "edited":
      let (id, at) = (try object.id(), try object.time())
      self = .edited(
        id: id, at: at, command: try Command(from: &object),
        options: object.has("directory") ? try EditedOptions(from: &object, sharing: &shared) : nil)
    case "acknowledged": self = .acknowledged(id: try object.id(), at: try object.time())
    case "hookFailed":
      self = .hookFailed(
        id: object.has("id") ? try object.id() : nil, at: try object.time(),
        how: try Ending(from: &object))
    case "counted":
      let at = try object.time()
      self = .counted(try Results(from: &object), at: at)
    case "forgotten":
      let at = try object.time()
      self = .forgotten(ids: try object.ranges("ids"), at: at)
    case "paused":
      let at = try object.time()
      self = .paused(at: at, because: object.has("because") ? try object.id("because") : nil)
    case "resumed": self = .resumed(at: try object.time())
    case "set":
      let at = try object.time()
      self = .set(try Setting(from: &object, sharing: &shared), at: at)
    case "compacted": self = .compacted(at: try object.time())
    case "previous": self = .previous(id: try object.id(), succeeded: try object.flag("succeeded"))
    default: throw .malformed
    }
  }
}

extension JobID {
  /// Below 2^53, the limit of exact integers in `jq` and JavaScript, and low enough that the next
  /// id fits in a line.
  static var valid: ClosedRange<JobID> { 1...(1 << 53) - 1 }

  /// Parses the decimal digits of an id.
  package static func parse(_ digits: Bytes) -> JobID? {
    JobID(decimal: digits).flatMap { valid ~= $0 ? $0 : nil }
  }
}

extension ClosedRange<JobID> {
  /// `3-7`, or `3` for a single id.
  package var text: String { count == 1 ? "\(lowerBound)" : "\(lowerBound)-\(upperBound)" }

  /// Parses `3`, and `3-7` whose ends may be equal.
  package init?(_ text: Bytes) {
    let parts = text.split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
    let ends = parts.compactMap { JobID.parse(Bytes($0)) }
    guard ends.count == parts.count, ends.count <= 2, let first = ends.first, let last = ends.last,
      first <= last
    else { return nil }
    self = first...last
  }
}

extension JSONWriter {
  mutating func head(_ name: StaticString, _ id: JobID?, _ at: Timestamp?) {
    key("e")
    string(name.withUTF8Buffer { Bytes($0) })
    if let id { member("id", id) }
    if let at { member("at", at.rfc3339) }
  }

  mutating func member(_ name: StaticString, _ ids: [ClosedRange<JobID>]) {
    member(name, ids.map { Bytes($0.text.utf8) })
  }
}

extension FlatObject {
  mutating func id(_ name: StaticString = "id") throws(FlatObjectError) -> JobID {
    try number(name, JobID.valid)
  }

  mutating func time(_ name: StaticString = "at") throws(FlatObjectError) -> Timestamp {
    guard let time = Timestamp(rfc3339: try word(name)) else { throw .malformed }
    return time
  }

  fileprivate mutating func uptime() throws(FlatObjectError) -> Int64 {
    Int64(try number("uptime", 0...Int.max))
  }

  mutating func ranges(
    _ name: StaticString
  ) throws(FlatObjectError) -> [ClosedRange<JobID>] {
    let texts = try list(name)
    let ranges = texts.compactMap { ClosedRange<JobID>($0) }
    guard texts == ranges.map({ Bytes($0.text.utf8) }) else { throw .malformed }
    return ranges
  }
}

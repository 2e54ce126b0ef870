import SerialqSystem

// The parts of events, as members of a line.

extension NewJob {
  func encode(to json: inout JSONWriter) {
    json.head("added", id, at)
    payload.encode(to: &json)
    limits.encode(to: &json)
    place.encode(to: &json)
  }

  init(
    from object: inout FlatObject,
    sharing shared: inout SharedBytes
  ) throws(FlatObjectError) {
    id = try object.id()
    at = try object.time()
    payload = try Payload(from: &object, sharing: &shared)
    limits = try Limits(from: &object)
    place = try Place(from: &object)
  }
}

extension Retry {
  func encode(to json: inout JSONWriter) {
    json.head("retried", id, at)
    json.member("attempts", attempts)
    if used > 0 { json.member("used", used) }
    if let due { json.member("due", due.rfc3339) }
    if isFree { json.member("free", true) }
    if hasTerminal { json.member("terminal", true) }
    place.encode(to: &json)
  }

  init(from object: inout FlatObject) throws(FlatObjectError) {
    id = try object.id()
    at = try object.time()
    attempts = try object.number("attempts", 0...Int(Int32.max))
    used = try object.count("used")
    due = object.has("due") ? try object.time("due") : nil
    isFree = try object.flag("free")
    hasTerminal = try object.flag("terminal")
    place = try Place(from: &object)
  }
}

extension Limits {
  func encode(to json: inout JSONWriter) {
    if timeout > 0 { json.member("timeout", timeout) }
    if retries > 0 { json.member("retries", retries) }
    if retryDelay > 0 { json.member("retryDelay", retryDelay) }
    if ifOK { json.member("ifOk", true) }
    if !after.isEmpty { json.member("requires", after) }
  }

  init(from object: inout FlatObject) throws(FlatObjectError) {
    timeout = try object.count("timeout")
    retries = try object.count("retries")
    retryDelay = try object.count("retryDelay")
    ifOK = try object.flag("ifOk")
    after = object.has("requires") ? try object.ranges("requires") : []
    guard zip(after, after.dropFirst()).allSatisfy({ $0.upperBound < $1.lowerBound }) else {
      throw .malformed
    }
  }
}

extension EditedOptions {
  func encode(to json: inout JSONWriter) {
    context.encode(to: &json)
    if let label { json.member("label", label) }
    terminal?.encode(to: &json)
    limits.encode(to: &json)
    if isFree { json.member("free", true) }
  }

  init(
    from object: inout FlatObject, sharing shared: inout SharedBytes
  ) throws(FlatObjectError) {
    context = try ExecutionContext(from: &object, sharing: &shared)
    label = try object.optionalBytes("label")
    terminal = try JobTerminal(from: &object)
    limits = try Limits(from: &object)
    isFree = try object.flag("free")
  }
}

extension Place {
  /// Writes nothing for `last`, the place of nearly every job.
  func encode(to json: inout JSONWriter) {
    switch self {
    case .last: break
    case .first: json.member("first", true)
    case .before(let id): json.member("before", id)
    case .after(let id): json.member("after", id)
    }
  }

  init(from object: inout FlatObject) throws(FlatObjectError) {
    if try object.flag("first") {
      self = .first
    } else if object.has("before") {
      self = .before(try object.id("before"))
    } else if object.has("after") {
      self = .after(try object.id("after"))
    } else {
      self = .last
    }
  }
}

extension Results {
  func encode(to json: inout JSONWriter) {
    if succeeded > 0 { json.member("succeeded", succeeded) }
    if failed > 0 { json.member("failed", failed) }
    if skipped > 0 { json.member("skipped", skipped) }
    if cancelled > 0 { json.member("cancelled", cancelled) }
    if hasRun { json.member("ran", true) }
  }

  init(from object: inout FlatObject) throws(FlatObjectError) {
    func count(_ name: StaticString) throws(FlatObjectError) -> Int {
      object.has(name) ? try object.number(name, 0...JobID.valid.upperBound) : 0
    }
    succeeded = try count("succeeded")
    failed = try count("failed")
    skipped = try count("skipped")
    cancelled = try count("cancelled")
    hasRun = try object.flag("ran")
  }
}

extension Setting {
  func encode(to json: inout JSONWriter) {
    switch self {
    case .stopsOnFailure(let stops):
      json.member("onFailure", Bytes(stops ? "stop" : "continue"))
    case .keep(let count): json.member("keep", count ?? 0)
    case .logLimit(let size): json.member("logLimit", size ?? 0)
    case .shell(let path): json.member("shell", path ?? [])
    case .onFinish(let hook): Hook.encode(hook, as: "onFinish", to: &json)
    case .onIdle(let hook): Hook.encode(hook, as: "onIdle", to: &json)
    case .onAsk(let hook): Hook.encode(hook, as: "onAsk", to: &json)
    case .terminal(let isOn): json.member("tty", Bytes(isOn ? "on" : "off"))
    case .launcher(let command): json.member("launcher", command ?? [])
    }
  }

  init(
    from object: inout FlatObject, sharing shared: inout SharedBytes
  ) throws(FlatObjectError) {
    if object.has("onFailure") {
      let word = try object.word("onFailure")
      guard word.spells("stop") || word.spells("continue") else { throw .malformed }
      self = .stopsOnFailure(word.spells("stop"))
    } else if object.has("keep") {
      let count = try object.count("keep")
      self = .keep(count == 0 ? nil : count)
    } else if object.has("logLimit") {
      let size = try object.number("logLimit", 0...1 << 50)
      self = .logLimit(size == 0 ? nil : size)
    } else if object.has("tty") {
      let word = try object.word("tty")
      guard word.spells("on") || word.spells("off") else { throw .malformed }
      self = .terminal(word.spells("on"))
    } else if let path = try object.optionalBytes("shell") {
      self = .shell(path.isEmpty ? nil : path)
    } else if let command = try object.optionalBytes("launcher") {
      self = .launcher(command.isEmpty ? nil : command)
    } else if object.has("onIdle") {
      self = .onIdle(try Hook(from: &object, named: "onIdle", sharing: &shared))
    } else if object.has("onAsk") {
      self = .onAsk(try Hook(from: &object, named: "onAsk", sharing: &shared))
    } else {
      self = .onFinish(try Hook(from: &object, named: "onFinish", sharing: &shared))
    }
  }
}

extension FlatObject {
  /// Reads a number that is omitted when it is 0; the limit is over a century in seconds.
  fileprivate mutating func count(_ name: StaticString) throws(FlatObjectError) -> Int {
    has(name) ? try number(name, 0...Int(UInt32.max)) : 0
  }
}

import SerialqSystem

package enum Command: Hashable, Sendable {
  /// A command line for `/bin/sh -c`.
  case shell(Bytes)
  /// A program and its arguments, passed without a shell.
  case arguments([Bytes])
}

extension Command {
  func encode(to json: inout JSONWriter) {
    switch self {
    case .shell(let line): json.member("shell", line)
    case .arguments(let words):
      json.key("command")
      json.array { json in words.forEach { json.string($0) } }
    }
  }

  init(from object: inout FlatObject) throws(FlatObjectError) {
    if let line = try object.optionalBytes("shell") {
      self = .shell(line)
    } else {
      self = .arguments(try object.list("command"))
    }
  }
}

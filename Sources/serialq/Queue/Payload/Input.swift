import SerialqSystem

/// What a job reads from standard input, instead of nothing.
package enum Input: Equatable, Sendable {
  /// A file, opened when the job runs; absolute.
  case file(Bytes)
  /// A copy in the queue, named after the first job that was added with it.
  case copy(Int)
}

extension Input {
  func encode(to json: inout JSONWriter) {
    switch self {
    case .file(let path): json.member("input", path)
    case .copy(let id): json.member("inputCopy", id)
    }
  }

  /// Returns nil if there is none.
  init?(from object: inout FlatObject) throws(FlatObjectError) {
    if let path = try object.optionalBytes("input") {
      self = .file(path)
    } else if object.has("inputCopy") {
      self = .copy(try object.number("inputCopy", 1...(1 << 53) - 1))
    } else {
      return nil
    }
  }
}

import SerialqSystem

/// What a job reads from standard input, instead of nothing.
package enum Input: Equatable, Sendable {
  /// A file, opened when the job runs; absolute.
  case file(Bytes)
  /// A copy in the queue, named after the first job that was added with it.
  case copy(Int)
}

extension Input {
  static func code(_ input: inout Input?, _ coder: inout LineCoder) throws(FlatObjectError) {
    var (path, copy): (Bytes?, JobID?) = (nil, nil)
    switch input {
    case .file(let file): path = file
    case .copy(let id): copy = id
    case nil: break
    }
    try coder.bytes("input", &path)
    try coder.id("inputCopy", &copy)
    input = path.map(Input.file) ?? copy.map(Input.copy)
  }
}

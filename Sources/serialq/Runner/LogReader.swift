/// Reads a job's log while it grows.
struct LogReader {
  private let path: Bytes
  private var file: FileDescriptor?
  private var offset: Int64 = 0

  init(_ path: Bytes) {
    self.path = path
  }

  /// Prints what has come since the last call; nothing if there is no log yet.
  ///
  /// Ends with the reader too: a job can print faster than this reads, and then there is always
  /// more.
  mutating func print(to output: inout Output) throws(Failure) {
    while !output.readerIsGone {
      let piece = try next()
      if piece.isEmpty { return }
      output.result(piece)
      try output.flush()
    }
  }

  private mutating func next() throws(Failure) -> Bytes {
    let (path, offset, known) = (path, offset, file)
    let (opened, piece) = try attempt("reading \(path.text)") {
      () throws(SystemError) -> (FileDescriptor?, Bytes) in
      var file = known
      if file == nil { file = try FileDescriptor.openIfThere(path, .read) }
      guard let file else { return (nil, []) }
      var piece: Bytes = []
      try file.fill(&piece, with: 1 << 16, from: offset)
      return (file, piece)
    }
    file = opened
    self.offset += Int64(piece.count)
    return piece
  }

  /// The last lines of a log, made safe for a terminal; reads no more than its end.
  static func tail(of path: Bytes, lines: Int) throws(Failure) -> [String] {
    let end = try attempt("reading \(path.text)") { () throws(SystemError) -> Bytes in
      guard let file = try FileDescriptor.openIfThere(path, .read) else { return [] }
      let size = try file.status().size
      let count = min(size, 8192)
      var bytes: Bytes = []
      try file.fill(&bytes, with: Int(count), from: size - count)
      return bytes
    }
    return Visible.lastLines(lines, of: end)
  }
}

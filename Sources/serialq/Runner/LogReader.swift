import SerialqSystem

/// Reads a job's log while it grows.
package struct LogReader {
  private let path: Bytes
  private var file: FileDescriptor?
  /// How far it has been printed, and how far it has been looked at: in between is one line, which
  /// has no end yet.
  private var printed: Int64 = 0
  private var seen: Int64 = 0

  package init(_ path: Bytes) {
    self.path = path
  }

  /// Prints what has come since the last call; nothing if there is no log yet.
  ///
  /// With `wholeLines`, a line without its end is kept back: below it something is drawn. Ends with
  /// the reader too: a job can print faster than this reads, and then there is always more.
  mutating func print(to output: inout Output, wholeLines: Bool = false) throws(Failure) {
    if !wholeLines { seen = printed }
    while !output.readerIsGone {
      let piece = try piece(from: seen)
      if piece.isEmpty { return }
      let ended = wholeLines ? piece.lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } : piece.count
      if let ended {
        try printPart(upTo: seen, &output)
        output.result(Bytes(piece[..<ended]))
        output.emit()
        printed = seen + Int64(ended)
      }
      seen += Int64(piece.count)
    }
  }

  /// Prints all that there is, and nothing that comes meanwhile: what a job prints that prints its
  /// own log would have no end.
  package mutating func printOnce(to output: inout Output) throws(Failure) {
    guard let file = try opened() else { return }
    let size = try attempt("reading \(path.text)") { () throws(SystemError) in
      try file.status().size
    }
    try printPart(upTo: size, &output)
  }

  /// The state of the line that has no end yet, such as a progress bar, made safe for a terminal.
  mutating func openLine() throws(Failure) -> String? {
    let count = min(seen - printed, LogReader.tailSize)
    guard count > 0 else { return nil }
    return Visible.lastLines(1, of: try piece(from: seen - count, Int(count))).last
  }

  /// Prints up to `end`, such as a line that was kept back; read again, as it can be of any length.
  private mutating func printPart(upTo end: Int64, _ output: inout Output) throws(Failure) {
    while printed < end, !output.readerIsGone {
      let piece = try piece(from: printed, Int(min(end - printed, LogReader.pieceSize)))
      // Cut short by somebody meanwhile.
      if piece.isEmpty { return printed = end }
      output.result(piece)
      // Not flushed when it is short: then the line goes out in one write with its end.
      printed += Int64(piece.count)
      if printed < end { output.emit() }
    }
  }

  private static let pieceSize: Int64 = 1 << 16
  private static let tailSize: Int64 = 8192

  private mutating func piece(
    from offset: Int64, _ count: Int = Int(pieceSize)
  ) throws(Failure) -> Bytes {
    guard let file = try opened() else { return [] }
    return try attempt("reading \(path.text)") { () throws(SystemError) in
      var piece: Bytes = []
      try file.fill(&piece, with: count, from: offset)
      return piece
    }
  }

  /// The log, as soon as there is one; opened once.
  private mutating func opened() throws(Failure) -> FileDescriptor? {
    if let file { return file }
    let path = path
    file = try attempt("reading \(path.text)") { () throws(SystemError) in
      try FileDescriptor.openIfThere(path, .read)
    }
    return file
  }

  /// The last lines of a log, made safe for a terminal; reads no more than its end.
  package static func tail(
    of path: Bytes, lines: Int, bytes most: Int64 = tailSize
  ) throws(Failure) -> [String] {
    let end = try attempt("reading \(path.text)") { () throws(SystemError) -> Bytes in
      guard let file = try FileDescriptor.openIfThere(path, .read) else { return [] }
      let size = try file.status().size
      let count = min(size, most)
      var bytes: Bytes = []
      try file.fill(&bytes, with: Int(count), from: size - count)
      return bytes
    }
    return Visible.lastLines(lines, of: end)
  }
}

import SerialqSystem

extension Replay {
  /// Reads every complete line of the file from the current position to `size`.
  ///
  /// Later appends are left to the next read: a busy queue could keep this loop running forever.
  /// Reads in chunks, so that a large journal need not fit in memory.
  mutating func takeAll(
    of file: FileDescriptor, upTo size: Int64, _ found: (Item) -> Void
  ) throws(Failure) {
    let piece: Int64 = 1 << 18
    var buffer: Bytes = []
    var offset = committed.offset
    while offset < size {
      let before = buffer.count
      try file.fill(&buffer, with: Int(min(piece, size - offset)), from: offset)
      // Truncated in the meantime: a failed write was rolled back.
      if buffer.count == before { return }
      offset += Int64(buffer.count - before)
      // The start of the buffer was already searched for a newline.
      let used = try takeLines(of: buffer, unsearched: before, found)
      buffer.removeSubrange(..<used)
    }
    buffer.withUnsafeBufferPointer { takeEnd($0, found) }
  }

  /// Takes the complete lines at the start of `buffer` and returns their length.
  private mutating func takeLines(
    of buffer: Bytes, unsearched: Int, _ found: (Item) -> Void
  ) throws(Failure) -> Int {
    try buffer.withUnsafeBufferPointer { bytes in
      Result { () throws(Failure) -> Int in
        var (start, search) = (0, unsearched)
        while let end = lineEnd(in: bytes, from: search) {
          try take(UnsafeBufferPointer(rebasing: bytes[start..<end]), found)
          start = end + 1
          search = start
        }
        return start
      }
    }.get()
  }
}

/// The index of the next newline, by `memchr(3)`.
private func lineEnd(in bytes: UnsafeBufferPointer<UInt8>, from start: Int) -> Int? {
  guard let base = bytes.baseAddress, start < bytes.count,
    let found = memchr(base + start, Int32(UInt8(ascii: "\n")), bytes.count - start)
  else { return nil }
  return UnsafeRawPointer(found) - UnsafeRawPointer(base)
}

extension [DamagedLine] {
  /// What to say about these lines; nil if there are none.
  package func message(in folder: QueueFolder) -> String? {
    guard !isEmpty else { return nil }
    let sentences = [
      sentence(
        "is damaged (its checksum is wrong) and was ignored",
        "are damaged (their checksums are wrong) and were ignored"
      ) { $0 == .changed },
      sentence(
        "is not in its place (a copy, or moved) and was ignored",
        "are not in their places (copies, or moved) and were ignored"
      ) { if case .misplaced = $0 { true } else { false } },
      sentence(
        "is intact, but lines before it are missing",
        "are intact, but lines before them are missing"
      ) { $0 == .afterGap },
    ]
    return sentences.compactMap { text in
      text.map { "serialq: \(Visible.text(folder.journal)): \($0)\n" }
    }.joined() + """
      All other lines were read. Check whether a job is missing: \
      \(advised("list", in: folder.name))
      """
  }

  private func sentence(
    _ one: String, _ many: String, _ isSuch: (DamagedLine.Fault) -> Bool
  ) -> String? {
    let such = filter { isSuch($0.fault) }
    return such.first.map { first in
      "line \(first.number) " + (such.count == 1 ? one : "and \(such.count - 1) more \(many)")
    }
  }
}

import TestSupport
import Testing

@testable import SerialqSystem

@Suite struct SystemTests {
  private let temporary: TemporaryFolder

  init() throws { temporary = try TemporaryFolder() }

  // Fails when a month or a leap year is off by a day: treat 1900 or 2100 as a leap year.
  @Test("A time is formatted as the C library does, and parses back")
  func times() {
    var generator = SeededGenerator(seed: 7)
    let edges: [Int64] = [
      0, -1, 951_782_400_000_000, 4_107_542_400_000_000, -2_203_891_200_000_000,
      253_402_300_799_999_999, -62_167_219_200_000_000,
    ]
    let random = (0..<2_000).map { _ in
      Int64.random(in: -62_167_219_200_000_000...253_402_300_799_999_999, using: &generator)
    }
    for microseconds in edges + random {
      let time = Timestamp(microseconds: microseconds)
      let fraction = (microseconds % 1_000_000 + 1_000_000) % 1_000_000
      var seconds = time_t((microseconds - fraction) / 1_000_000)
      var parts = tm()
      gmtime_r(&seconds, &parts)
      var buffer = [CChar](repeating: 0, count: 32)
      strftime(&buffer, buffer.count, "%H:%M:%S", &parts)
      let clock = buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }.text
      let text = time.rfc3339.text
      #expect(text.dropFirst(11).hasPrefix(clock))
      #expect(Int(text.prefix(4)) == Int(parts.tm_year) + 1900)
      #expect(Int(text.dropFirst(5).prefix(2)) == Int(parts.tm_mon) + 1)
      #expect(Int(text.dropFirst(8).prefix(2)) == Int(parts.tm_mday))
      #expect(time.rfc3339.withUnsafeBufferPointer { Timestamp(rfc3339: $0) } == time)
    }
  }

  // Fails, without end, when DN_CREATE, DN_MODIFY, DN_DELETE or DN_RENAME is left out, or when the
  // end of the first watch also ends the signals of the second one.
  @Test("A watch that ends at once wakes at each change, also after another one has ended")
  func watchThatEndsAtOnce() throws {
    var watch = try FileWatch(folders: [temporary.path], endsAtOnce: true)
    func sleepUntilChange() throws {
      _ = try waitForInput(on: [watch.descriptor], until: nil)
      watch.drain()
    }
    for name in ["a", "b"] {
      let file = try FileDescriptor.open(temporary.path(name), .log)
      try sleepUntilChange()
      try file.writeAll(Bytes("x"))
      try sleepUntilChange()
      try FileSystem.rename(temporary.path(name), to: temporary.path("c"))
      try sleepUntilChange()
      try FileSystem.remove(temporary.path("c"))
      try sleepUntilChange()
      watch = try FileWatch(folders: [temporary.path], endsAtOnce: true)
    }
  }

  // Fails when an open file forgets its path, or an access does not say what it is for.
  @Test("A failed call names the operation and the path")
  func context() throws {
    let missing = temporary.path("none") + Bytes("/") + [0xFF]
    let accesses: [(FileDescriptor.Access, String)] = [
      (.read, "reading"), (.check, "checking"), (.lock, "locking"), (.growing, "opening"),
      (.emptied, "writing"), (.emptyLog, "creating"),
    ]
    for (access, doing) in accesses {
      let failure = #expect(throws: Failure.self) { try FileDescriptor.open(missing, access) }
      #expect(failure?.what == "\(doing) \(temporary.path("none").text)/<FF>")
      #expect(failure?.number == ENOENT)
    }
    let path = temporary.path("f")
    _ = try FileDescriptor.open(path, .new)
    let file = try FileDescriptor.open(path, .read)
    let written = #expect(throws: Failure.self) { try file.writeAll(Bytes("x")) }
    #expect(written?.sentence == "writing \(path.text): Bad file descriptor (write)")
    let removed = #expect(throws: Failure.self) { try FileSystem.remove(temporary.path) }
    #expect(removed?.what == "removing \(temporary.path.text)")
    let watched = #expect(throws: Failure.self) { try FileWatch(folders: [missing]) }
    #expect(watched?.what.hasPrefix("watching ") == true)
  }

  // Fails when an error that a user can fix has only the generic advice.
  @Test(
    "Errors about paths, the disk and permissions include advice",
    arguments: [ENOENT, ENOTDIR, ENOSPC, EACCES, EROFS, EMFILE, EIO, ENOMEM, ENOLCK])
  func advice(code: Int32) {
    let failure = Failure("write", code, "writing", Bytes("x"))
    #expect(failure.what == "writing x")
    #expect(failure.why.hasSuffix("(write)"))
    #expect(failure.next != Failure("write", 0, "writing", Bytes("x")).next)
  }
}

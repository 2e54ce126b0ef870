import Testing

@testable import SerialqSystem

@Suite struct LocalSocketTests {
  private let temporary: TemporaryFolder
  private let path: Bytes

  init() throws {
    temporary = try TemporaryFolder()
    path = temporary.path("socket")
  }

  /// The next connection, which is already waiting.
  private func accept(_ socket: LocalSocket) throws -> FileDescriptor {
    try #require(try socket.accept())
  }

  // Fails if the path is cut, or if two paths with the same first 100 bytes are one socket.
  @Test("a path can be longer than an address", arguments: [1, 3])
  func longPath(parts: Int) throws {
    var folder = temporary.path
    for _ in 0..<parts {
      folder = folder.appending(path: Bytes(repeating: UInt8(ascii: "d"), count: 120))
      #expect(try FileSystem.makeFolder(folder))
    }
    let sockets = try ["one", "two"].map {
      try LocalSocket(listeningAt: folder.appending(path: Bytes($0.utf8)))
    }
    let directory = try Machine.directory()
    let client = try LocalSocket.connect(to: folder.appending(path: Bytes("two")))
    #expect(client != nil)
    #expect(try sockets[0].accept() == nil)
    #expect(try sockets[1].accept() != nil)
    #expect(try Machine.directory() == directory)
    let name = Bytes(repeating: UInt8(ascii: "n"), count: 200)
    let failure = #expect(throws: Failure.self) {
      try LocalSocket(listeningAt: folder.appending(path: name))
    }
    #expect(failure?.number == ENAMETOOLONG)
  }

  // Fails if other users can connect, whatever the umask is.
  @Test("only this user may connect")
  func mode() throws {
    let socket = try LocalSocket(listeningAt: path)
    let status = try #require(try FileSystem.status(of: path))
    #expect(status.kind == .socket)
    #expect(status.mode == 0o600)
    withExtendedLifetime(socket) {}
  }

  // Fails if a socket without a process is an error, or is in the way of the next one.
  @Test("a socket that was left behind is replaced, and nothing listens there until then")
  func leftBehind() throws {
    #expect(try LocalSocket.connect(to: path) == nil)
    do {
      let first = try LocalSocket(listeningAt: path)
      // A process that a concurrent test spawns may have it open a moment longer.
      #expect(shutdown(first.descriptor.raw, Int32(SHUT_RDWR)) == 0)
    }
    #expect(try LocalSocket.connect(to: path) == nil)
    let second = try LocalSocket(listeningAt: path)
    #expect(try LocalSocket.connect(to: path) != nil)
    withExtendedLifetime(second) {}
  }

  // Fails if a planted file is deleted, or a link followed to the socket of another program.
  @Test("anything else at the path is refused and kept", arguments: ["file", "folder", "link"])
  func planted(kind: String) throws {
    let target = try LocalSocket(listeningAt: temporary.path("target"))
    switch kind {
    case "file": try write(Bytes("mine"), to: path)
    case "folder": #expect(try FileSystem.makeFolder(path))
    default:
      let made = path.withCString { link in
        temporary.path("target").withCString { symlink($0, link) }
      }
      #expect(made == 0)
    }
    let before = try FileSystem.status(of: path)
    let listening = #expect(throws: Failure.self) { try LocalSocket(listeningAt: path) }
    let connecting = #expect(throws: Failure.self) { try LocalSocket.connect(to: path) }
    for failure in [listening, connecting] {
      #expect(failure?.what.contains("socket") == true)
      #expect(failure?.next.contains("serialq did not create it") == true)
    }
    #expect(try FileSystem.status(of: path) == before)
    withExtendedLifetime(target) {}
  }

  // Fails if a file of another user is trusted; or one is deleted that this user could delete.
  @Test("a socket of another user is refused", .enabled(if: geteuid() == 0, "needs root"))
  func otherOwner() throws {
    let socket = try LocalSocket(listeningAt: path)
    #expect(path.withCString { chown($0, 65_534, 65_534) } == 0)
    let failure = #expect(throws: Failure.self) { try LocalSocket.connect(to: path) }
    #expect(failure?.why.contains("user 65534") == true)
    #expect(throws: Failure.self) { try LocalSocket(listeningAt: path) }
    #expect(try FileSystem.status(of: path)?.kind == .socket)
    withExtendedLifetime(socket) {}
  }

  #if os(Linux)
    // Fails if the users at the ends are not compared; the mode keeps most of them out earlier.
    @Test("each end refuses another user's process", .enabled(if: geteuid() == 0, "needs root"))
    func otherUser() throws {
      let socket = try LocalSocket(listeningAt: path)
      #expect(temporary.path.withCString { chmod($0, 0o755) } == 0)
      #expect(path.withCString { chown($0, 65_534, 65_534) } == 0)
      // This system call changes the user of the calling thread only.
      #expect(setUser(-1, 65_534, -1) == 0)
      let result = Result { try LocalSocket.connect(to: path) }
      #expect(setUser(-1, 0, -1) == 0)
      let failure = #expect(throws: Failure.self) { try result.get() }
      #expect(failure?.why == "it belongs to user 0, and you are user 65534")
      #expect(try waitForInput(on: [socket.descriptor.raw], until: 0) == [true])
      #expect(try socket.accept() == nil)
      #expect(try waitForInput(on: [socket.descriptor.raw], until: 0) == [false])
    }
  #endif
}

#if os(Linux)
  /// `setresuid(2)`, which glibc would call in all threads.
  private func setUser(_ real: Int, _ effective: Int, _ saved: Int) -> Int {
    #if arch(x86_64)
      systemCall(117, real, effective, saved)
    #else
      systemCall(147, real, effective, saved)
    #endif
  }

  @_silgen_name("syscall")
  private func systemCall(_ number: Int, _ one: Int, _ two: Int, _ three: Int) -> Int
#endif

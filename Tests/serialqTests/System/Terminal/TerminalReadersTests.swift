import Testing

@testable import SerialqSystem

#if os(Linux)
  /// Whether a process waits to read from a terminal, by what `proc(5)` shows.
  @Suite struct TerminalReadersTests {
    // Fails if a number or an argument is taken from another place.
    @Test("the call in which a thread waits is parsed")
    func parsed() {
      let expected: [(String, KernelWait?)] = [
        ("0 0x3 0x7ffc75dbb05f 0x1 0x8 0x2 0x1 0x7ffc75dbb028 0x7fa13807b2ad\n", .read(3)),
        ("19 0x0 0x0 0x0 0x0 0x0 0x0 0x1 0x2\n", .read(0)),
        ("7 0x1000 0x3 0x64 0x0 0x0 0x0 0x1 0x2\n", .poll(.init(address: 4096, count: 24))),
        ("271 0x1000 0x1 0x0 0x0 0x0 0x0 0x1 0x2\n", .poll(.init(address: 4096, count: 8))),
        ("270 0x9 0x2000 0x0 0x0 0x0 0x0 0x1 0x2\n", .select(.init(address: 8192, count: 2))),
        ("23 0x9 0x0 0x2000 0x0 0x0 0x0 0x1 0x2\n", .select(.init(address: 0, count: 0))),
        ("232 0x5 0x7f80ecc3c390 0x2 0xffffffff 0x0 0x0 0x1 0x2\n", .epoll(5)),
        // nanosleep, and outside of a call.
        ("35 0x0 0x0 0x0 0x0 0x0 0x0 0x1 0x2\n", .other), ("running\n", .other),
        ("-1 0x7ffc75dbb028 0x7fa13807b2ad\n", .other),
        // Continues an unknown call after SIGCONT.
        ("219 0x0 0x1 0x0 0x0 0x0 0x0 0x1 0x2\n", nil),
        ("", nil), ("0\n", nil), ("0 0 0 0 0 0 0 0 0\n", nil), ("x 0x0\n", nil),
        ("0 0x10000000000000000 0x0 0x0 0x0 0x0 0x0 0x1 0x2\n", nil),
      ]
      for (line, wait) in expected {
        #expect(KernelWait(Bytes(line.utf8), .x86_64) == wait, "\(line)")
      }
      let read = Bytes("63 0x0 0x0 0x0 0x0 0x0 0x0 0x1 0x2\n".utf8)
      #expect(KernelWait(read, .arm64) == .read(0))
      #expect(KernelWait(read, .x86_64) == .other)
      #expect(KernelWait(read, nil) == nil)
    }

    // Fails if a damaged count makes the process allocate all memory.
    @Test("an absurd number of descriptors is bounded")
    func bounded() {
      let line = Bytes("7 0x1000 0xffffffffffffffff 0x64 0x0 0x0 0x0 0x1 0x2\n".utf8)
      #expect(KernelWait(line, .x86_64) == .poll(.init(address: 4096, count: 8 << 16)))
    }

    // Fails if what a process waits to write counts as what it waits to read.
    @Test("the descriptors that a process waits to read are found in its memory")
    func memory() {
      #expect(
        KernelWait.polled(in: Self.polls([(0, POLLIN), (1, POLLOUT), (7, POLLIN)])) == [0, 7])
      #expect(KernelWait.polled(in: []) == [])
      #expect(KernelWait.selected(in: [0b0000_0101, 0, 0b1000_0000]) == [0, 2, 23])
      let information = """
        pos:\t0
        flags:\t02000002
        tfd:        4 events:       19 data:                4  pos:0 ino:34e16 sdev:9
        tfd:        0 events:        4 data:     7f8000000000  pos:0 ino:4 sdev:1a
        tfd:
        """
      #expect(KernelWait.watched(in: Bytes(information.utf8)) == [4])
    }

    private static func polls(_ list: [(Int32, Int32)]) -> Bytes {
      list.flatMap { descriptor, events in
        let entry = pollfd(fd: descriptor, events: Int16(events), revents: 0)
        return withUnsafeBytes(of: entry) { Bytes($0) }
      }
    }

    // Fails if a function of another kernel version is not known.
    @Test("the function in which a thread sleeps is recognized")
    func channels() {
      let expected: [(String, WaitChannel)] = [
        ("n_tty_read", .terminal), ("wait_woken", .terminalOrSocket), ("ep_poll", .epoll),
        ("do_epoll_wait", .epoll), ("poll_schedule_timeout.constprop.0", .poll),
        ("do_sys_poll", .poll), ("do_select", .poll), ("hrtimer_nanosleep", .other),
        ("do_wait", .other), ("anon_pipe_read", .other), ("futex_wait_queue", .other),
        ("0", .unknown), ("", .unknown),
      ]
      for (name, channel) in expected {
        #expect(WaitChannel(Bytes(name.utf8)) == channel, "\(name)")
      }
    }

    // Fails if a process that reads something else seems to ask, or one that asks does not.
    @Test("a process waits for the terminal if its system call names one of its descriptors")
    func calls() throws {
      let proc = try FakeProc()
      let x86_64 = KernelWait.Numbers.own?.restart == 219
      func call(_ kind: String, _ arguments: String) -> String {
        let numbers =
          x86_64
          ? ["read": 0, "poll": 271, "select": 270, "epoll": 281]
          : ["read": 63, "poll": 73, "select": 72, "epoll": 22]
        return "\(numbers[kind] ?? 999) \(arguments) 0x0 0x0 0x0 0x0 0x1 0x2\n"
      }
      let polled = Self.polls([(3, POLLIN), (0, POLLIN)])
      let unpolled = Self.polls([(3, POLLIN), (0, POLLOUT)])
      let watched = "tfd:        0 events:       19 data: 0\n"
      let cases: [(String, Bytes?, String, Bool?)] = [
        (call("read", "0x0 0x0"), nil, "", true), (call("read", "0x4 0x0"), nil, "", true),
        (call("read", "0x3 0x0"), nil, "", false), (call("read", "0x9 0x0"), nil, "", false),
        (call("sleep", "0x0 0x0"), nil, "", false),
        (call("poll", "0x40 0x2"), polled, "", true),
        (call("poll", "0x40 0x2"), unpolled, "", false),
        (call("poll", "0x40 0x1"), polled, "", false), (call("poll", "0x40 0x2"), nil, "", nil),
        (call("poll", "0x0 0x0"), nil, "", false),
        (call("select", "0x1 0x40"), [1, 0], "", true),
        (call("select", "0x8 0x40"), [0b1110_0110, 1], "", false),
        (call("epoll", "0x5 0x0"), nil, watched, true), (call("epoll", "0x5 0x0"), nil, "", false),
      ]
      for (line, memory, watched, expected) in cases {
        try proc.add(
          7, group: 7, syscall: line, channel: "", memory: memory,
          descriptors: [
            0: "/dev/pts/9", 1: "/dev/pts/8", 3: "socket:[5]", 4: "/dev/tty",
            5: "anon_inode:[eventpoll]",
          ], watched: [5: watched])
        #expect(proc.wait(group: 7) == expected, "\(line)")
      }
    }

    // Fails if a guess is reported as a fact, or a question is missed where Yama hides the call.
    @Test("without the system call, only what cannot be anything else is certain")
    func channelsOnly() throws {
      let proc = try FakeProc()
      let plain: [Int32: String] = [0: "/dev/pts/9", 3: "pipe:[6]", 5: "anon_inode:[eventpoll]"]
      let connected = plain.merging([4: "socket:[5]"]) { $1 }
      let watched: [Int32: String] = [5: "tfd:        0 events:       19 data: 0\n"]
      let cases: [(String, [Int32: String], [Int32: String], Bool?)] = [
        ("n_tty_read", connected, [:], true), ("wait_woken", plain, [:], true),
        ("wait_woken", connected, [:], nil), ("do_sys_poll", plain, [:], nil),
        ("ep_poll", plain, watched, true), ("ep_poll", plain, [5: ""], false),
        ("ep_poll", plain, [:], nil), ("hrtimer_nanosleep", plain, watched, false),
        ("0", plain, [:], nil), ("n_tty_read", [0: "/dev/null"], [:], false),
      ]
      for (channel, descriptors, watched, expected) in cases {
        try proc.add(
          7, group: 7, syscall: nil, channel: channel, descriptors: descriptors, watched: watched)
        #expect(proc.wait(group: 7) == expected, "\(channel) \(descriptors)")
      }
    }

    // Fails if only one process or thread is checked, or those of another group are.
    @Test("one of the processes and threads in the group is enough")
    func groups() throws {
      let proc = try FakeProc()
      let terminal: [Int32: String] = [0: "/dev/pts/9"]
      try proc.add(7, group: 7, syscall: nil, channel: "do_wait", descriptors: terminal)
      try proc.add(8, group: 8, syscall: nil, channel: "n_tty_read", descriptors: terminal)
      #expect(proc.wait(group: 7) == false)
      try proc.add(9, group: 7, syscall: nil, channel: "do_sys_poll", descriptors: terminal)
      #expect(proc.wait(group: 7) == nil)
      try proc.add(10, group: 7, syscall: nil, channel: "futex_wait", descriptors: terminal)
      try proc.addThread(11, of: 10, channel: "n_tty_read")
      #expect(proc.wait(group: 7) == true)
      // No such group, even outside of the test.
      #expect(proc.wait(group: Int32.max) == false)
    }

    // Fails if the child of `su -c` is not found, or a background process is.
    @Test("a process that was started in another session counts, one in the background does not")
    func sessions() throws {
      let proc = try FakeProc()
      let terminal: [Int32: String] = [0: "/dev/pts/9"]
      try proc.add(7, group: 7, syscall: nil, channel: "do_wait", descriptors: terminal)
      try proc.add(
        8, group: 8, parent: 7, syscall: nil, channel: "n_tty_read", descriptors: terminal)
      #expect(proc.wait(group: 7) == false)
      try proc.add(
        9, group: 9, parent: 7, session: 9, syscall: nil, channel: "do_wait", descriptors: terminal)
      #expect(proc.wait(group: 7) == false)
      try proc.add(
        10, group: 9, parent: 9, session: 9, syscall: nil, channel: "n_tty_read",
        descriptors: terminal)
      #expect(proc.wait(group: 7) == true)
    }

    // Fails if a busy or stopped process seems to ask, or a hidden one certainly does not.
    @Test("a process that does not sleep asks nothing, and a hidden one that sleeps may")
    func states() throws {
      for (state, expected) in [("S", true), ("R", false), ("T", false), ("D", false)] {
        let proc = try FakeProc()
        try proc.add(
          7, group: 7, state: state, syscall: nil, channel: "n_tty_read",
          descriptors: [0: "/dev/pts/9"])
        #expect(proc.wait(group: 7) == expected, "\(state)")
      }
      #expect(TerminalReaders.wait(on: [], group: 7, proc: Bytes("/proc/self/stat")) == nil)
    }

    // Fails if the system's own description is misread.
    @Test(
      "a process that waits for an answer is found",
      arguments: [
        "read x", "exec cat", "cat /dev/tty | cat", "sleep 1000 & read x", "(sh -c 'read x')",
      ])
    func asks(line: String) throws {
      let process = try TerminalProcess(line)
      try process.waitUntil("a process that reads") { process.terminal.readsInput == true }
    }

    // Fails if a process that works, or waits for something else, seems to ask.
    @Test(
      "a process that waits for something else is not taken for one that asks",
      arguments: [
        ("echo up; exec sleep 1000", "sleep"), ("echo up; exec tail -f /dev/null", "tail"),
        ("echo up; sleep 1000 | exec cat", "cat"),
        ("echo up; exec cat <fifo", "sh"),
      ])
    func asksNothing(line: String, name: String) throws {
      let temporary = try TemporaryFolder()
      #expect(temporary.path("fifo").withCString { mkfifo($0, 0o600) } == 0)
      let process = try TerminalProcess("cd '\(temporary.path.text)'; \(line)")
      try process.waitForOutput("up")
      try process.waitUntil("a sleeping \(name)") {
        try FileSystem.names(in: Bytes("/proc")).compactMap { Int32($0.text) }
          .compactMap(ProcessStatus.of)
          .contains { $0.group == process.pid && $0.name.text == name && $0.isAsleep }
      }
      #expect(process.terminal.readsInput == false)
    }

    // Fails if an answer is needed twice, or the next question is missed.
    @Test("a process that was answered asks no longer, until it asks again")
    func answered() throws {
      let process = try TerminalProcess("read x; echo got $x; sleep 1000 & wait; read y")
      try process.waitUntil("the question") { process.terminal.readsInput == true }
      try process.type("yes\n")
      try process.waitForOutput("got yes")
      try process.waitUntil("the wait") { process.terminal.readsInput == false }
      // Without a session there is no process that could ask.
      let empty = try ServedTerminal(
        master: try PseudoTerminal(TerminalWindow(columns: 80, rows: 24)).master)
      #expect(empty.readsInput == false)
    }
  }

  /// A folder like `/proc`.
  private struct FakeProc {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    func wait(group: Int32) -> Bool? {
      TerminalReaders.wait(on: Bytes("/dev/pts/9"), group: group, proc: folder.path)
    }

    /// Adds a process with one thread, or replaces it.
    func add(
      _ pid: Int32, group: Int32, parent: Int32 = 1, session: Int32 = 1, state: String = "S",
      syscall: String?, channel: String,
      memory: Bytes? = nil, descriptors: [Int32: String], watched: [Int32: String] = [:]
    ) throws {
      let process = folder.path("\(pid)")
      TemporaryFolder.remove(process)
      for part in ["", "/fd", "/fdinfo", "/task"] {
        #expect(try FileSystem.makeFolder(process + Bytes(part.utf8)))
      }
      for (number, target) in descriptors {
        let link = process + Bytes("/fd/\(number)".utf8)
        #expect(link.withCString { symlink(target, $0) } == 0)
      }
      for (number, text) in watched {
        try write(Bytes(text.utf8), to: process + Bytes("/fdinfo/\(number)".utf8))
      }
      // The list is at the address 64.
      if let memory {
        try write(Bytes(repeating: 0, count: 64) + memory, to: process + Bytes("/mem"))
      }
      let stat =
        "\(pid) (job) \(state) \(parent) \(group) \(session) 0 -1 0 5 5 0 1 1 4 42 7 20 0 1 0 431 51 1"
      try write(Bytes(stat.utf8), to: process + Bytes("/stat"))
      try addThread(pid, of: pid, syscall: syscall, channel: channel)
    }

    func addThread(
      _ thread: Int32, of pid: Int32, syscall: String? = nil, channel: String
    ) throws {
      let process = folder.path("\(pid)")
      let path = process + Bytes("/task/\(thread)".utf8)
      #expect(try FileSystem.makeFolder(path))
      try write(try content(process + Bytes("/stat")), to: path + Bytes("/stat"))
      if let syscall { try write(Bytes(syscall.utf8), to: path + Bytes("/syscall")) }
      try write(Bytes(channel.utf8), to: path + Bytes("/wchan"))
    }
  }
#endif

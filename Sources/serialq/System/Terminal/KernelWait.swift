/// The system call in which a thread waits, as `/proc/PID/syscall` of `proc(5)` shows it.
enum KernelWait: Equatable {
  case read(Int32)
  /// `poll(2)`, and the list of what it waits for.
  case poll(Memory)
  /// `select(2)`, and the set of descriptors that it waits to read.
  case select(Memory)
  case epoll(Int32)
  /// Another call, or none.
  case other

  /// A piece of the memory of the process.
  struct Memory: Equatable {
    var address: UInt64
    var count: Int
  }

  /// The numbers of the system calls that can wait for input; they depend on the architecture.
  struct Numbers {
    var read: Set<Int>
    var poll: Set<Int>
    var select: Set<Int>
    var epoll: Set<Int>
    /// `restart_syscall(2)`, which continues a call that was stopped by a signal.
    var restart: Int

    static let x86_64 = Numbers(
      read: [0, 17, 19, 295, 327], poll: [7, 271], select: [23, 270], epoll: [232, 281, 441],
      restart: 219)
    static let arm64 = Numbers(
      read: [63, 65, 67, 69, 286], poll: [73], select: [72], epoll: [22, 441], restart: 128)

    /// The numbers on this machine; nil if they are not known.
    static var own: Numbers? {
      #if arch(x86_64)
        x86_64
      #elseif arch(arm64)
        arm64
      #else
        nil
      #endif
    }
  }

  /// Parses the number of the call and its arguments; nil if the line does not show them.
  init?(_ line: Bytes, _ numbers: Numbers?) {
    guard let numbers else { return nil }
    let words = line.split { $0.isSpace }.map { Bytes($0).text }
    // It is "running", or -1 outside of a call.
    if words == ["running"] || words.first == "-1" {
      self = .other
      return
    }
    guard words.count > 6, let number = Int(words[0]), number != numbers.restart else { return nil }
    let arguments = words[1...6].compactMap { Self.number($0) }
    guard arguments.count == 6 else { return nil }
    self.init(number, arguments, numbers)
  }

  private init(_ number: Int, _ arguments: [UInt64], _ numbers: Numbers) {
    // The system ignores the upper half.
    let descriptor = Int32(truncatingIfNeeded: arguments[0])
    if numbers.read.contains(number) {
      self = .read(descriptor)
    } else if numbers.epoll.contains(number) {
      self = .epoll(descriptor)
    } else if numbers.poll.contains(number) {
      let count = Self.count(arguments[1]) * MemoryLayout<pollfd>.stride
      self = .poll(Memory(address: arguments[0], count: count))
    } else if numbers.select.contains(number) {
      // Without a set it waits to read none.
      let count = arguments[1] == 0 ? 0 : (Self.count(arguments[0]) + 7) / 8
      self = .select(Memory(address: arguments[1], count: count))
    } else {
      self = .other
    }
  }

  /// Bounds a number of descriptors.
  private static func count(_ argument: UInt64) -> Int {
    Int(min(argument & 0xFFFF_FFFF, UInt64(mostDescriptors)))
  }

  private static let mostDescriptors = 1 << 16

  private static func number(_ word: String) -> UInt64? {
    word.hasPrefix("0x") ? UInt64(word.dropFirst(2), radix: 16) : nil
  }

  /// The descriptors that a list of `poll(2)` waits to read.
  static func polled(in list: Bytes) -> Set<Int32> {
    let stride = MemoryLayout<pollfd>.stride
    let entries = list.withUnsafeBytes { bytes in
      (0..<list.count / stride).map {
        bytes.loadUnaligned(fromByteOffset: $0 * stride, as: pollfd.self)
      }
    }
    return Set(entries.filter { Int32($0.events) & Int32(POLLIN | POLLRDNORM) != 0 }.map(\.fd))
  }

  /// The descriptors in a set of `select(2)`.
  ///
  /// An array of words, of which the lowest byte is first on all architectures above.
  static func selected(in set: Bytes) -> Set<Int32> {
    let found = (0..<set.count * 8).filter { index in
      let bit: UInt8 = 1 << UInt8(index % 8)
      return set[index / 8] & bit != 0
    }
    return Set(found.map { Int32($0) })
  }

  /// The descriptors that an `epoll(7)` descriptor waits to read, as `/proc/PID/fdinfo` shows them.
  static func watched(in information: Bytes) -> Set<Int32> {
    // tfd:        0 events:       19 data:                4  pos:0 ino:4 sdev:1a
    let found = information.split(separator: UInt8(ascii: "\n")).compactMap { line -> Int32? in
      let words = line.split { $0.isBlank }.map { Bytes($0).text }
      guard words.count > 3, words[0] == "tfd:", words[2] == "events:",
        let events = UInt32(words[3], radix: 16), events & UInt32(POLLIN | POLLRDNORM) != 0
      else { return nil }
      return Int32(words[1])
    }
    return Set(found)
  }
}

/// The function of the kernel in which a thread sleeps, as `/proc/PID/wchan` names it.
///
/// Shown where the system call is not: Yama hides that from all but the ancestors of a process.
enum WaitChannel: Equatable {
  case terminal
  /// Blocking reads of terminals and of TCP connections sleep in the same function.
  case terminalOrSocket
  case poll
  case epoll
  case other
  /// Not shown, or not asleep.
  case unknown

  init(_ name: Bytes) {
    let name = name.text
    // The compiler may add a suffix, as in `poll_schedule_timeout.constprop.0`.
    func isOne(of prefixes: String...) -> Bool { prefixes.contains { name.hasPrefix($0) } }
    if name.isEmpty || name == "0" {
      self = .unknown
    } else if isOne(of: "n_tty_read") {
      self = .terminal
    } else if isOne(of: "wait_woken") {
      self = .terminalOrSocket
    } else if isOne(of: "ep_poll", "do_epoll_wait") {
      self = .epoll
    } else if isOne(of: "poll_schedule_timeout", "do_sys_poll", "do_poll", "do_select") {
      self = .poll
    } else {
      self = .other
    }
  }
}

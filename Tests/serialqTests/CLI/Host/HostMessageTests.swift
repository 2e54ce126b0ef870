import SerialqQueue
import SerialqSystem
import TestSupport
import Testing

@testable import SerialqCLI

/// The messages between a caller and the machine that carries out its call.
@Suite struct HostMessageTests {
  private static var call: HostCall {
    var call = HostCall(
      key: HostCall.newKey(), attempt: 3, mayBegin: false, received: 7, elapsed: 9)
    call.input = .keys
    call.terminals = [true, false, true]
    call.window = TerminalWindow(columns: 132, rows: 50)
    call.variables = [Bytes("TERM=x")]
    call.words = [[], Bytes("a\nb"), [0xFF, 0x00, 0x80], Bytes(repeating: 7, count: 200_000)]
    return call
  }

  private static let messages: [HostMessage] = [
    .call(call), .greeting(HostGreeting(answer: .continued, received: 4)), .acknowledged(0),
    .input([]), .input([0, 255]), .inputEnd, .signal(2),
    .window(TerminalWindow(columns: 1, rows: 2)), .outputClosed, .left, .output(Bytes("x")),
    .errors([0]), .ended(.exited(255)), .ended(.killed(9)),
  ]

  private func decoded(_ decoder: inout HostMessageDecoder) -> [HostMessage] {
    var found: [HostMessage] = []
    while case .message(let message) = decoder.next() { found.append(message) }
    return found
  }

  // Fails if a field is lost, or a message depends on how the connection delivers it.
  @Test("every message is read as it was written, however it is split")
  func split() {
    let bytes = Bytes("Welcome!\n") + HostMessage.opening + Self.messages.flatMap(\.encoded)
    for size in [1, 2, 7, 4_096, bytes.count] {
      var decoder = HostMessageDecoder()
      var found: [HostMessage] = []
      for start in stride(from: 0, to: bytes.count, by: size) {
        decoder.append(Bytes(bytes[start..<min(bytes.count, start + size)]))
        found += decoded(&decoder)
      }
      #expect(found == Self.messages, "\(size)")
    }
  }

  // Fails if bytes of another program, or of a later version, are taken for a message or crash it.
  @Test("bytes that are no messages are none")
  func unknown() {
    var generator = SeededGenerator(seed: 1)
    for _ in 0..<2_000 / ease {
      var decoder = HostMessageDecoder()
      var bytes = Self.messages.randomElement(using: &generator)?.encoded ?? []
      let index = Int.random(in: 0..<min(200, bytes.count), using: &generator)
      bytes[index] = .random(in: 0...255, using: &generator)
      decoder.append(HostMessage.opening + bytes)
      for message in decoded(&decoder) {
        if case .call(let call) = message { #expect(call.key.count == 32) }
      }
    }
    var decoder = HostMessageDecoder()
    decoder.append(HostMessage.opening + Bytes("?") + [0, 0, 0, 0])
    #expect(decoder.next() == .unknown)
    decoder = HostMessageDecoder()
    decoder.append(HostMessage.opening + Bytes("o") + [255, 0, 0, 0])
    #expect(decoder.next() == .unknown)
  }

  // Fails if a caller does not read the version of a program whose other fields it does not know.
  @Test("a greeting of another version says which")
  func otherVersion() {
    let greeting = HostGreeting(fields: ["9", "7.0", "x", "y", "z"].map { Bytes($0.utf8) })
    #expect(greeting?.answer == .refused && greeting?.program == "7.0")
    var fields = Self.call.fields
    fields[0] = Bytes("9")
    #expect(HostCall(fields: fields) == nil)
  }

  // Fails if a key can name a file elsewhere.
  @Test("the key of a call is 32 digits")
  func key() {
    for key in ["../../../../../../../../etc/passwd", "", "A" + String(repeating: "a", count: 31)] {
      var call = Self.call
      call.key = Bytes(key.utf8)
      #expect(HostCall(fields: call.fields) == nil)
    }
    #expect(HostCall.newKey() != HostCall.newKey())
  }
}

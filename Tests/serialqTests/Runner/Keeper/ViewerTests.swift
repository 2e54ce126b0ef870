@testable import SerialqRunner
import SerialqSystem
import Testing

/// What an attached terminal is sent.
struct ViewerTests {
  private let window = TerminalWindow(columns: 80, rows: 24)

  private func attached() throws -> Viewer {
    var viewer = Viewer()
    let messages = try viewer.receive(AttachMessage.hello(window).encoded)
    #expect(messages == [.hello(window)])
    return viewer
  }

  /// Sends everything in pieces; returns the messages that arrive.
  private func send(
    _ viewer: inout Viewer, piece: Int = 1_000, _ repaint: () -> Bytes = { [] }
  ) throws -> [AttachMessage] {
    var reader = AttachMessage.Reader()
    var messages: [AttachMessage] = []
    while viewer.hasOutput {
      let next = viewer.next(repaint).prefix(piece)
      reader.add(Bytes(next))
      viewer.note(sent: next.count)
      while let message = try reader.next() { messages.append(message) }
    }
    return messages
  }

  // Fails if output is sent before the size of the terminal is known.
  @Test("a terminal gets the output since its first message, in order")
  func order() throws {
    var viewer = Viewer()
    viewer.show(Bytes("early"))
    _ = try viewer.receive(AttachMessage.hello(window).encoded)
    viewer.paint(Bytes("painted"))
    viewer.show(Bytes("one"))
    viewer.tell(.typing(false))
    viewer.show(Bytes("two"))
    let expected: [AttachMessage] = [
      .output(Bytes("painted")), .output(Bytes("one")), .typing(false), .output(Bytes("two")),
    ]
    let messages = try send(&viewer, piece: 2)
    #expect(messages == expected)
  }

  // Fails if memory grows with what a terminal does not read, or a part of a message is dropped.
  @Test("a terminal that does not read is painted anew when it reads again", arguments: [0, 10])
  func behind(_ sent: Int) throws {
    var viewer = try attached()
    viewer.show(Bytes(repeating: 1, count: 100))
    var reader = AttachMessage.Reader()
    reader.add(Bytes(viewer.next { [] }.prefix(sent)))
    viewer.note(sent: sent)
    for _ in 0..<100 { viewer.show(Bytes(repeating: 2, count: 1 << 16)) }
    viewer.tell(.typing(false))
    var messages: [AttachMessage] = []
    while viewer.hasOutput {
      let next = viewer.next { Bytes("painted") }
      #expect(next.count < 1_000)
      reader.add(Bytes(next))
      viewer.note(sent: next.count)
      while let message = try reader.next() { messages.append(message) }
    }
    #expect(messages.last == .output(Bytes("painted")))
    #expect(messages.contains(.typing(false)))
    // It may have been on the alternate screen.
    #expect(messages.contains(.output(TerminalModes.reset + Bytes("\r\n"))))
    #expect((messages.first == .output(Bytes(repeating: 1, count: 100))) == (sent > 0))
  }

  // Fails if a stalled terminal cannot type, or the last output of a job is lost.
  @Test("what a stalled terminal missed precedes the end, and it learns again whether it types")
  func ends() throws {
    var viewer = try attached()
    viewer.tell(.typing(true))
    for _ in 0..<100 { viewer.show(Bytes(repeating: 2, count: 1 << 16)) }
    viewer.end { Bytes("DONE") }
    let messages = try send(&viewer)
    let reset = TerminalModes.reset + Bytes("\r\n")
    #expect(messages == [.output(reset), .typing(true), .output(Bytes("DONE")), .over])
  }
}

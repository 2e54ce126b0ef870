import SerialqSystem
@testable import SerialqWatch
import Testing

@testable import SerialqRunner

/// What an attached terminal sends and shows.
@Suite struct AttachStateTests {
  private static let window = TerminalWindow(columns: 40, rows: 10)

  private func begun() -> AttachState {
    var state = AttachState(leavingBy: .backslash)
    state.begin(Self.window)
    return state
  }

  /// Whether these keys leave.
  private func types(_ keys: String, _ state: inout AttachState) -> Bool {
    state.type(Bytes(keys.utf8))
  }

  /// The messages to the keeper, without those before.
  private func sent(_ state: inout AttachState) throws -> [AttachMessage] {
    var reader = AttachMessage.Reader()
    reader.add(state.outgoing)
    state.note(sent: state.outgoing.count)
    var messages: [AttachMessage] = []
    while let message = try reader.next() { messages.append(message) }
    return messages
  }

  /// What is to be shown, which is then written; `^` is an escape.
  private func shown(_ state: inout AttachState) -> String {
    defer { state.note(written: state.output.count) }
    return text(state.output)
  }

  private func text(_ bytes: Bytes) -> String {
    bytes.text.replacing("\u{1B}", with: "^").replacing("\u{18}", with: "!")
  }

  private func output(_ text: String) -> Bytes {
    AttachMessage.output(Bytes(text.replacing("^", with: "\u{1B}").utf8)).encoded
  }

  // Fails if keys after the detach key reach the job, or those before it do not.
  @Test("keys are sent up to the detach key")
  func keys() throws {
    var state = begun()
    _ = try sent(&state)
    let many = String(repeating: "a", count: AttachMessage.longest + 1)
    let cases: [(keys: String, leaves: Bool, sent: [String])] = [
      ("ab\u{3}", false, ["ab\u{3}"]), ("c\u{1C}d", true, ["c"]), ("\u{1C}", true, []),
      (many, false, [String(many.dropLast()), "a"]),
    ]
    for (keys, expected, messages) in cases {
      let leaves = types(keys, &state)
      #expect(leaves == expected)
      let sent = try sent(&state)
      #expect(sent == messages.map { .keys(Bytes($0.utf8)) })
    }
  }

  // Fails if a keeper or a terminal that reads nothing makes this process grow.
  @Test("no more is read than what the other side accepts")
  func bounded() throws {
    var state = begun()
    while state.readsKeys { _ = state.type(Bytes(repeating: 0x61, count: 1 << 16)) }
    #expect(state.outgoing.count < 2 << 20)
    while state.readsOutput { try state.receive(output(String(repeating: "x", count: 1 << 14))) }
    #expect(state.output.count < 1 << 19)
    state.note(written: state.output.count)
    #expect(state.readsOutput)
  }

  // Fails if the output of a job that ended meanwhile counts as shown.
  @Test("an end before the first answer of the keeper is one at which nothing was shown")
  func missed() throws {
    for last in [AttachMessage.over.encoded, nil] {
      var state = begun()
      try state.receive(last)
      #expect(state.ending == .missed && state.isEnded)
    }
  }

  // Fails if bytes of another protocol are printed.
  @Test("bytes that are not of the protocol fail")
  func malformed() {
    var state = begun()
    #expect(throws: Failure.self) { try state.receive([9, 0, 0]) }
  }

  // Fails if a message continues a line of the job, or changes its style.
  @Test("a message is on a line of its own, in no style")
  func messages() throws {
    var state = begun()
    try state.receive(output("^[31mred"))
    state.say("first")
    state.say("second")
    let both = shown(&state)
    #expect(both == "^[31mred!^[m\r\nfirst\r\n!^[m\rsecond\r\n")
    try state.receive(output("more\r\n"))
    state.say("third")
    let third = shown(&state)
    #expect(third == "more\r\n!^[m\rthird\r\n")
    // In the middle of a sequence.
    try state.receive(output("^[3"))
    state.say("fourth")
    let fourth = shown(&state)
    #expect(fourth == "^[3!^[m\rfourth\r\n^[3")
  }

  // Fails if a message alone has the terminal reset.
  @Test("a message between text has no sequences")
  func textMessages() throws {
    var state = begun()
    try state.receive(output("text"))
    state.say("message")
    let printed = shown(&state)
    let undo = text(state.leave())
    #expect(printed == "text\r\nmessage\r\n" && undo == "\r")
  }

  // Fails if a message scrolls the screen of an editor, or moves its cursor.
  @Test("over a full screen a message is in the last row, and cut to it")
  func fullScreen() throws {
    var state = begun()
    try state.receive(output("^[?1049h^[5;5Htext"))
    _ = shown(&state)
    state.say(String(repeating: "m", count: 50))
    let line = String(repeating: "m", count: 38) + "…"
    let printed = shown(&state)
    #expect(printed == "!^7^[10;1H^[m\(line)^[K^8")
  }

  // Fails if anything stays changed, or the prompt continues a line of the job.
  @Test(
    "leaving restores the terminal, with the cursor at the start of a line",
    arguments: [
      ("", "\r"), ("text", "\r\n"), ("text\r\n", "\r"), ("^[31mtext\r\n", "reset\r"),
      ("text\r\n^[31m", "reset\r"), ("50%\r", "\r\n"), ("a\r\n^[?25l$ ", "reset\r\n"),
      ("^[?1049hscreen", "reset\r\n"), ("text^[3", "reset\r\n"), ("\r\n^[?2004h", "reset\r"),
    ])
  func leaving(printed: String, undo: String) throws {
    for size in 1...max(1, printed.utf8.count) {
      var state = begun()
      for byte in printed { try state.receive(output(String(byte))) }
      while !state.output.isEmpty { state.note(written: min(size, state.output.count)) }
      let left = text(state.leave())
      #expect(
        left == undo.replacing("reset", with: text(TerminalModes.reset)),
        "\(printed) in pieces of \(size)")
    }
  }

  // Fails if what was not written counts, or is printed after the end.
  @Test("leaving drops what was not written")
  func unwritten() throws {
    var state = begun()
    try state.receive(output("ab\r\n^[31mred"))
    state.note(written: 4)
    let undo = text(state.leave())
    #expect(undo == "\r")
    #expect(state.output.isEmpty)
  }
}

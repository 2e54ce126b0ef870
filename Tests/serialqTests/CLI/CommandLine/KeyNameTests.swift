import SerialqQueue
import SerialqSystem
import Testing

@testable import SerialqCLI

@Suite struct KeyNameTests {
  // Fails if a spelling is not accepted, or is another key.
  @Test(
    "a control key has several spellings",
    arguments: [
      (#"^\"#, 0x1C), (#"C-\"#, 0x1C), ("\u{1C}", 0x1C), ("^]", 0x1D), ("^^", 0x1E), ("^_", 0x1F),
      ("^A", 1), ("^a", 1), ("C-a", 1), ("c-A", 1), ("ctrl-a", 1), ("Ctrl-A", 1), ("CTRL-a", 1),
      ("\u{1}", 1), ("^@", 0), ("ctrl-x", 0x18), ("^C", 3),
    ])
  func spellings(name: String, byte: Int) {
    #expect(KeyName.key(Bytes(name.utf8)) == ControlKey(UInt8(byte)), "\(name)")
  }

  // Fails if a word is taken for a key that it does not name.
  @Test(
    "other words are not control keys",
    arguments: [
      "", "a", "^", "^aa", "^1", "C-", "C-ä", "ctrl-", "ctrl-ab", "ctrl-1", "alt-a", "^?", " ",
    ])
  func others(name: String) {
    let name = Bytes(name.utf8)
    #expect(KeyName.key(name) == nil)
    #expect(KeyName.fault(in: name) == "not a control key, such as ^A or C-a")
  }

  // Fails if a key could leave the job that is part of other keys, or that programs need.
  @Test("keys that jobs need are refused, with the reason")
  func refused() {
    for key in ["^[", "^C", "^D", "^H", "^I", "^J", "^M", "^Q", "^S", "^Z", "C-c", "\t"] {
      let fault = KeyName.fault(in: Bytes(key.utf8))
      #expect(fault?.hasPrefix("the job needs it: ") == true, "\(key)")
    }
    let others = "@ABEFGKLNOPRTUVWXY\\]^_".map { "^\($0)" }
    #expect(others.allSatisfy { KeyName.fault(in: Bytes($0.utf8)) == nil })
    #expect(KeyName.fault(in: Bytes("ctrl-c")) == "the job needs it: it interrupts")
  }

  // Fails if the option is ignored, or the key has another name in messages.
  @Test("the detach key of attach is Ctrl-\\, or that of the option")
  func option() throws {
    func call(_ words: String...) throws(Failure) -> Invocation {
      try Invocation.parse([Bytes("attach")] + words.map { Bytes($0.utf8) })
    }
    let standard = AttachCommand(queue: "default", job: JobSelection())
    #expect(standard.detachKey.name == #"Ctrl-\"#)
    #expect(try call() == .command(standard))
    let other = AttachCommand(
      queue: "a", job: JobSelection(7), detachKey: ControlKey(UInt8(ascii: "B")))
    #expect(other.detachKey.name == "Ctrl-B")
    #expect(try call("-qa", "--detach-key", "^b", "7") == .command(other))
    for (words, message) in [
      (["--detach-key=x"], "--detach-key x: not a control key, such as ^A or C-a"),
      (["--detach-key", "^Z"], "--detach-key ^Z: the job needs it: it suspends"),
      (["1-2"], "1-2: attach takes only one job"),
      (["1", "2"], "2: attach takes only one argument"),
    ] {
      let failure = #expect(throws: Failure.self) {
        try Invocation.parse([Bytes("attach")] + words.map { Bytes($0.utf8) })
      }
      #expect(failure?.sentence == message)
    }
  }
}

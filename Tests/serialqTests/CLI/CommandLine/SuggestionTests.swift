import SerialqSystem
import Testing

@testable import SerialqCLI

@Suite struct SuggestionTests {
  private func distance(_ a: String, _ b: String) -> Int {
    Suggestion.distance(Bytes(a.utf8), Bytes(b.utf8))
  }

  // Fails if a swap of adjacent letters counts as two edits.
  @Test("the distance is the number of edits")
  func distances() {
    #expect(distance("", "") == 0)
    #expect(distance("", "abc") == 3)
    #expect(distance("abc", "") == 3)
    #expect(distance("list", "list") == 0)
    #expect(distance("lsit", "list") == 1)
    #expect(distance("lst", "list") == 1)
    #expect(distance("kitten", "sitting") == 3)
    #expect(distance("ca", "abc") == 3)
  }

  // Fails if a distant word is suggested when there is no close one.
  @Test("only close words are suggested, and the closest of them")
  func closest() {
    let names = ["add", "run", "list", "status"]
    #expect(Suggestion.closest(to: Bytes("statsu"), among: names) == "status")
    #expect(Suggestion.closest(to: Bytes("rnu"), among: names) == "run")
    #expect(Suggestion.closest(to: Bytes("make"), among: names) == nil)
    #expect(Suggestion.closest(to: [], among: names) == nil)
  }

  // Fails if a word of another program is a command here, or its answer names none.
  @Test("words of other programs lead to commands that exist")
  func otherWords() {
    for (words, meant, command) in CommandTable.otherWords {
      for word in words { #expect(CommandName(called: Bytes(word.utf8)) == nil, "\(word)") }
      for word in words where word.hasPrefix("-") {
        #expect(StatusCommand.spec.lastOption(in: Bytes(word.utf8)) == nil, "\(word)")
      }
      #expect(CommandName(called: Bytes(command.utf8)) != nil, "\(command)")
      #expect(meant.split(separator: " ").contains(Substring(command)), "\(meant)")
    }
  }

  // Fails if an option of another program is also one here, or its answer names none.
  @Test("options of other programs lead to options that exist")
  func otherOptions() {
    for (words, option, meant) in CommandTable.otherOptions {
      #expect(meant.contains("--\(option.rawValue)"), "\(meant)")
      for spec in CommandTable.commands.map(\.allOptions)
      where spec.contains(where: { $0.name == option }) {
        let known = spec.flatMap { [$0.long, $0.short.map { "-\($0)" } ?? ""] }
        #expect(Set(known).isDisjoint(with: words), "\(words)")
      }
    }
  }
}

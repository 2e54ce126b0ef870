import SerialqQueue
import TestSupport
import Testing

@testable import SerialqSystem

/// A shell to paste into, configured as much like an interactive one as a script can be.
struct PastedInto: CustomTestStringConvertible, Sendable {
  var shell: Tool
  var options: [String] = []
  var preamble: String

  var testDescription: String { shell.rawValue }
  var path: String? { shell.path() }

  /// History expansion, which interactive shells have and scripts do not.
  static let bash = PastedInto(
    shell: .bash, options: ["--norc"], preamble: "set -o history -o histexpand\n"
  )
  static let zsh = PastedInto(
    shell: .zsh, options: ["-f"],
    preamble: "setopt magic_equal_subst rc_quotes extended_glob no_nomatch\n"
  )

  static let dash = PastedInto(shell: .dash, preamble: "")

  /// The arguments received when `commands`, which start with `receive`, are pasted.
  func arguments(of commands: [String]) throws -> [Bytes] {
    let receive = "receive() { printf '%s\\0' \"$@\"; }\n"
    let script = preamble + receive + commands.joined(separator: "\n") + "\n"
    let output = try RealShell.output(of: Bytes(script.utf8), in: path ?? "", options)
    return output.split(separator: 0, omittingEmptySubsequences: false).dropLast().map { Bytes($0) }
  }
}

@Suite struct ShellQuoteTests {
  /// bash, which the tests require, and zsh and dash if they are installed.
  static let shells = [PastedInto.bash] + [.zsh, .dash].filter { $0.path != nil }

  // Skipped if one is not installed: the tests below then do not cover it. Fails if both are
  // installed and they leave one out.
  @Test("zsh and dash are tested too", .needs(.zsh, .dash))
  func othersAreTried() {
    #expect(Self.shells.map(\.shell) == [.bash, .zsh, .dash])
  }

  // Fails if `singleQuoted` does not close the quotes around a quote, or a word with control
  // characters takes a form that is no POSIX: `$'a\tb'` is `$a\tb` in dash.
  @Test("random bytes are preserved", .needs(.bash), arguments: shells)
  func randomBytesArrive(_ shell: PastedInto) throws {
    var random = SeededGenerator(seed: 7)
    let special = Bytes("'\"\\!$`~={}[]()*?#&|;<> \t\n%^-01aé")
    let words = (0..<3_000).map { index in
      (0..<Int.random(in: 0...20, using: &random)).map { _ in
        index.isMultiple(of: 2)
          ? UInt8.random(in: 1...255, using: &random)
          : special.randomElement(using: &random) ?? 0x61
      }
    }
    let parts = stride(from: 0, to: words.count, by: 10).map { words[$0..<$0 + 10] }
    let lines = parts.map { "receive " + $0.map(ShellQuote.word).joined(separator: " ") }
    #expect(try shell.arguments(of: lines) == words)
    let commands = parts.map { ShellQuote.arguments([Bytes("receive")] + $0) }
    #expect(try shell.arguments(of: commands) == words)
    #expect(commands.allSatisfy { !$0.contains("\n") })
  }

  // Fails if the first word is quoted like any other: it is then an assignment or a keyword.
  @Test("a program is started whatever its name", .needs(.bash), arguments: shells)
  func programNames(_ shell: PastedInto) throws {
    let names = ["A=b", "A+=b", "A[1]=b", "if", "time", "{", "!", "[[", "%1", "while", "function"]
    let lines = names.map { name in
      let command = ShellQuote.arguments([Bytes(name.utf8), Bytes("x")])
      // 127 shows that the word was looked up as a program, not read as a keyword, a job or a
      // variable.
      return "(PATH=/nowhere; \(command)) 2>/dev/null; receive $?"
    }
    #expect(try shell.arguments(of: lines) == names.map { _ in Bytes("127") })
  }

  // Fails if `script` writes a form that only some shells know: quote it like `arguments`, where sh
  // is dash.
  @Test("every byte is preserved in sh by the edited line, and a name stays a name")
  func scripts() throws {
    let words: [Bytes] =
      (1...255).map { [0x61, UInt8($0), 0x37] } + [
        [], Bytes("'"), Bytes("a\n'b'\n"), Array(1...255), Bytes("plain"), [0xC3], Bytes("\\n"),
      ]
    let line = ShellQuote.script([Bytes("printf"), Bytes("%s\\0")] + words)
    let output = try RealShell.output(of: line, in: "/bin/sh")
    let arrived = output.split(separator: 0, omittingEmptySubsequences: false).dropLast()
    #expect(arrived.map { Bytes($0) } == words)
    #expect(ShellQuote.script([Bytes("A=b"), Bytes("x")]) == Bytes("'A=b' x"))
    #expect(ShellQuote.script([Bytes("%1"), Bytes("it's")]) == Bytes(#"env %1 'it'\''s'"#))
  }

  // Fails if a word is quoted that no shell expands: lists would be hard to read.
  @Test("ordinary words are not quoted, and quoting is as simple as possible")
  func plainness() {
    func shown(_ words: String...) -> String { ShellQuote.arguments(words.map { Bytes($0.utf8) }) }
    #expect(
      shown("make", "-j4", "CC=gcc", "./a_b/c.d:e@f%1,+") == "make -j4 CC=gcc ./a_b/c.d:e@f%1,+")
    #expect(shown("a b", "", "it's") == #"'a b' '' 'it'\''s'"#)
    #expect(shown("A=b", "x") == "'A=b' x")
    #expect(shown("a\u{1B}7", "b") == #""$(printf 'a\0337')" b"#)
    #expect(shown("-a\u{1B}7\n'%!\\") == #""$(printf '\055a\0337\n\047%%\041\\')""#)
    #expect(shown("a\n") == #"eval "$(printf '\047a\n\047')""#)
    #expect(shown("cd", "/") == "env cd /")
    #expect(shown("echo", "a\\n") == #"env echo 'a\n'"#)
    #expect(shown("echo", "a") == "echo a")
    #expect(ShellQuote.command(.shell(Bytes("a\tb"))) == #"sh -c "$(printf 'a\tb')""#)
    #expect(shown("héllo", "日本 語") == "'héllo' '日本 語'")
  }

  // Fails if `TextPiece` treats one of them as printable.
  @Test("control characters and bidirectional controls are never printed raw")
  func nothingUnsafeIsRaw() {
    let values =
      Array(1...0x1F) + Array(0x7F...0x9F) + Array(0x202A...0x202E)
      + Array(0x2066...0x2069) + [0x61C, 0x200B, 0x200E, 0x200F, 0x2028, 0x2029, 0xFEFF, 0xE0041]
    for value in values {
      guard let scalar = UnicodeScalar(UInt32(value)) else { continue }
      let bytes = Bytes("a\(Character(scalar))b".utf8)
      for command in [Command.shell(bytes), .arguments([bytes])] {
        #expect(!ShellQuote.command(command).unicodeScalars.contains(scalar))
      }
      #expect(!Visible.text(bytes).unicodeScalars.contains(scalar))
    }
  }
}

@testable import SerialqRunner
import SerialqSystem
import Testing

/// The end of a job's output, with which a terminal is painted.
struct OutputTailTests {
  private let window = TerminalWindow(columns: 80, rows: 5)

  private func tail(_ text: String) -> OutputTail {
    var tail = OutputTail()
    tail.note(Bytes(text.utf8))
    return tail
  }

  // Fails if more than a screen is printed, or the incomplete last line is lost.
  @Test("the last lines are painted, at most a screen full")
  func lines() {
    let lines = (1...100).map { "\($0)\r\n" }.joined()
    #expect(tail(lines).repaint(window).text == "97\r\n98\r\n99\r\n100\r\n")
    #expect(tail(lines + "prompt> ").repaint(window).text == "98\r\n99\r\n100\r\nprompt> ")
    #expect(tail("a\r\nb").repaint(window).text == "a\r\nb")
    #expect(tail("").repaint(window).isEmpty)
  }

  // Fails if the arrow keys or the mouse of a program do not work after a reattachment.
  @Test("the modes that earlier output has changed are changed again")
  func modes() {
    let lines = (1...10).map { "\($0)\r\n" }.joined()
    let painted = tail("\u{1B}[31m\u{1B}[?2004h\u{1B}=" + lines).repaint(window).text
    #expect(painted == "\u{1B}=\u{1B}[?2004h7\r\n8\r\n9\r\n10\r\n")
  }

  // Fails if a mode that was set since on another screen, or before a reset, is set last.
  @Test("a terminal has the present modes, and nothing from before a reset")
  func presentModes() {
    let editor = "\u{1B}[?25l\u{1B}[?1049h\u{1B}[?25h\u{1B}[?1h\u{1B}[?1049lsh"
    #expect(tail(editor).repaint(window).text == "\u{1B}[?1hsh")
    #expect(tail("a\u{1B}(0\u{1B}[?1h\u{1B}chello").repaint(window).text == "hello")
    #expect(tail("a\u{1B}[?1049hb\u{1B}cc").repaint(window).text == "c")
  }

  // Fails if the memory of a keeper grows with the output.
  @Test("a long output is kept to its end, from the start of a line")
  func bounded() {
    var tail = OutputTail()
    for index in 0..<20_000 { tail.note(Bytes("line \(index)\r\n".utf8)) }
    let all = tail.repaint(TerminalWindow(columns: 80, rows: 1_000_000)).text
    #expect(all.utf8.count <= 2 * OutputTail.most)
    #expect(all.hasPrefix("line ") && all.hasSuffix("line 19999\r\n"))
  }

  // Fails if a full-screen program is painted by its last lines.
  @Test("a program on the alternate screen is painted from its start, or on an empty screen")
  func fullScreen() {
    let tail = tail("shell\r\n\u{1B}[?1049h\u{1B}[Hvi")
    #expect(tail.isFullScreen)
    // What precedes would be printed on the main screen of the terminal.
    #expect(tail.repaint(window).text == "\u{1B}[?1049h\u{1B}[H\u{1B}[2J\u{1B}[Hvi")
    // Afterwards the main screen is as it was.
    let left = self.tail("shell\r\n\u{1B}[?1049;25hvi\u{1B}[?47h\u{1B}[?1049lback")
    #expect(!left.isFullScreen && left.repaint(window).text == "shell\r\nback")
  }

  // Fails if a full screen of which the start is not kept is painted on the main screen.
  @Test("a program that has drawn very much is painted on an empty alternate screen")
  func longFullScreen() {
    var tail = tail("shell\r\n\u{1B}[?1049h")
    for index in 0..<20_000 { tail.note(Bytes("\u{1B}[Hline \(index)\r\n".utf8)) }
    let painted = tail.repaint(window).text
    #expect(painted.hasPrefix("\u{1B}[?1049h\u{1B}[H\u{1B}[2J\u{1B}[Hline "))
    #expect(painted.utf8.count <= 2 * OutputTail.most)
  }

  // Fails if a terminal that attaches types answers to old questions into the job.
  @Test("queries of the terminal are not repeated")
  func queries() {
    #expect(tail("a\u{1B}[cb\u{1B}]11;?\u{7}c").repaint(window).text == "abc")
    #expect(tail("a\u{1B}[").repaint(window).text == "a\u{1B}[")
  }

  // Fails if a line without an end is cut in a sequence or a character.
  @Test("output without lines is cut before a sequence")
  func noLines() {
    var tail = OutputTail()
    for _ in 0..<20_000 { tail.note(Bytes("\r日本 \u{1B}[31m50%".utf8)) }
    let all = tail.repaint(window).text
    #expect(all.hasPrefix("\r日本 \u{1B}[31m") || all.hasPrefix("\u{1B}[31m50%"))
  }

  // Fails if a program that prints only lines is notified of a size that has not changed.
  @Test("only a job that has printed control sequences draws again")
  func drawn() {
    #expect(!tail("").isDrawn && !tail("a\r\n10%\r20%").isDrawn)
    #expect(tail("\u{1B}[H18 root").isDrawn)
  }
}

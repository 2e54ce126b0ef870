import SerialqQueue
@testable import SerialqRunner
import SerialqSystem
import Testing

/// Whether a job seems to wait for an answer.
struct PromptDetectorTests {
  private static let second: Int64 = 1_000_000_000
  private typealias Look = PromptDetector.Look

  /// The question after this output, if the terminal looks like this at every look.
  private func question(_ output: String, _ look: PromptDetector.Look) -> Question? {
    var detector = PromptDetector(now: 0)
    _ = detector.printed(Bytes(output.utf8), at: Self.second)
    while detector.due != nil { _ = detector.looked(look) }
    return detector.question
  }

  // Fails if silence alone, or a progress bar, counts as a question.
  @Test("a line without an end and silence are a question")
  func input() {
    #expect(question("Continue? [Y/n] ", Look()) == Question(.input, Bytes("Continue? [Y/n]")))
    #expect(question("a\nname: ", Look()) == Question(.input, Bytes("name:")))
    #expect(question("done\n", Look()) == nil)
    #expect(question("", Look()) == nil)
    #expect(question("a\n40%\r41%", Look()) == nil)
  }

  @Test("a terminal that hides what is typed is a password prompt")
  func password() {
    let hides = Look(hidesInput: true)
    #expect(question("Password: ", hides) == Question(.password, Bytes("Password:")))
    #expect(question("Password:\n", hides) == Question(.password, []))
  }

  // Fails if a password prompt waits for the second look.
  @Test("a password prompt is recognized at the first look, a question at the last")
  func order() {
    var detector = PromptDetector(now: 0)
    _ = detector.printed(Bytes("x: "), at: Self.second)
    #expect(detector.due == Self.second + PromptDetector.delays[0])
    let first = detector.looked(Look())
    #expect(first == nil)
    #expect(detector.due == Self.second + PromptDetector.delays[1])
    let last = detector.looked(Look())
    #expect(last == Question(.input, Bytes("x:")))
    // No look is due while nothing happens.
    #expect(detector.due == nil)
  }

  // Fails if an answered question stays, or is reported again and again.
  @Test("output and input end a question, once")
  func ends() {
    var detector = PromptDetector(now: 0)
    _ = detector.printed(Bytes("x: "), at: 0)
    while detector.due != nil { _ = detector.looked(Look()) }
    let ends = [
      detector.restart(at: Self.second), detector.restart(at: Self.second),
      detector.printed(Bytes("y\n"), at: Self.second),
    ]
    #expect(ends == [true, false, false])
    while detector.due != nil { _ = detector.looked(Look()) }
    #expect(detector.question == nil)
  }

  // Fails if the question contains control sequences, or what a carriage return has overwritten.
  @Test("the question is the text of the last line")
  func text() {
    let colored = "a\r\n\u{1B}[1;31mSure\u{1B}[0m? [y/N] "
    #expect(question(colored, Look())?.text.text == "Sure? [y/N]")
    #expect(
      question(String(repeating: "x", count: 100_000), Look())?.text.count == Question.maxText)
  }

  // Fails if a program that draws the screen and reads keys all the time asks at each redraw.
  @Test("a program that draws the screen asks nothing, a prompt on a cleared screen does")
  func drawing() {
    #expect(question("\u{1B}[H\u{1B}[2Jtop\r\n18 root\u{1B}[K\u{1B}[6;1H", Look()) == nil)
    #expect(question("\u{1B}[H\u{1B}[2J$ ", Look()) == Question(.input, Bytes("$")))
    #expect(question("text", Look(isFullScreen: true)) == nil)
  }

  // Fails if a terminal that is attached and left again repeats the on-ask command.
  @Test("a question is repeated if only a terminal was attached meanwhile")
  func repeated() {
    var detector = PromptDetector(now: 0)
    var repetitions: [Bool] = []
    func ask(_ detector: inout PromptDetector) {
      while detector.due != nil { _ = detector.looked(Look()) }
      repetitions.append(detector.isRepeated)
    }
    _ = detector.printed(Bytes("x: "), at: 0)
    ask(&detector)
    _ = detector.restart(at: 1)
    ask(&detector)
    _ = detector.typed(at: 2)
    ask(&detector)
    #expect(repetitions == [false, true, false])
  }
}

import SerialqSystem
import Testing

@testable import SerialqCLI
@testable import SerialqQueue

/// What a queue knows about the terminals of its jobs.
@Suite struct JobTerminalTests {
  private let password = Question(.password, Bytes("Passphrase:"))
  private let failure = Act.end(1, .exited(1))
  private let start = Act.start(1, hasTerminal: true)

  private func added(_ terminal: JobTerminal?, input: Input? = nil) -> Act {
    .add(
      1, spec("true", JobSpec.Details(label: Bytes("x"), input: input, terminal: terminal)))
  }

  // Fails when a suspended job is listed as asking: it would not take the answer.
  @Test("A suspended job asks nothing until it is continued")
  func suspended() {
    var queue = queue(
      added(.unknownSize), start, .ask(1, password), .suspend(1, at: moment()))
    #expect(queue.job(1)?.question == nil && queue.job(1)?.stateText == "suspended")
    queue.perform(.continue(1, at: moment()))
    #expect(queue.job(1)?.question == password && queue.job(1)?.stateText == "asking")
  }

  // Fails when output that is missing in a log is forgotten with the end of the job.
  @Test("That a log is incomplete is known while it exists, also if it is recorded late")
  func unlogged() {
    let lost = Act.unlog(1, Bytes("No space left on device"))
    for acts in [[lost], [lost, failure], [failure, lost]] {
      let queue = queue([added(.unknownSize), start] + acts)
      #expect(queue.job(1)?.execution?.unlogged == Bytes("No space left on device"))
    }
    let again = queue(added(.unknownSize), start, lost, failure, .retry([1]), start)
    #expect(again.job(1)?.execution?.unlogged == nil)
  }

  // Fails when a size is read that is not written so: drop the last guard of `JobTerminal`.
  @Test("A terminal of any other spelling is damage")
  func spelling() throws {
    for text in ["24x80", "0x0", "65535x1"] {
      #expect(try isRead(text), "\(text)")
    }
    for text in ["", "24", "24x", "x80", "024x80", "24x80x1", "65536x1", "-1x2", "24X80", "+1x2"] {
      #expect(try !isRead(text), "\(text)")
    }
  }

  private func isRead(_ text: String) throws -> Bool {
    JobTerminal(Bytes(text.utf8))?.text == text
  }
}

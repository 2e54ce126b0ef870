import Dispatch
@testable import SerialqRunner
@testable import SerialqSystem
@testable import SerialqWatch
import Testing

/// The thread that prints and the thread that receives signals.
@Suite struct TerminalRestorerTests {
  private let folder: TemporaryFolder
  private let printed: FileDescriptor
  /// A queue of its own gets a thread at once; the global queue waits for one that tests occupy.
  private let signals = DispatchQueue(label: "signals")

  init() throws {
    folder = try TemporaryFolder()
    printed = try FileDescriptor.open(folder.path("printed"), .log)
  }

  private var output: Output { Output(results: printed.raw) }

  // Fails if a signal restores the terminal between the note of an output and its write: the output
  // changes the terminal afterwards.
  @Test("a signal restores the terminal after the output that is being printed")
  func signalDuringOutput() throws {
    let restorer = TerminalRestorer(isTerminal: true, isLive: true)
    let ended = DispatchSemaphore(value: 0)
    let (color, output) = (Bytes("\u{1B}[31m".utf8), self.output)
    restorer.printing {
      restorer.note(color)
      signals.async {
        restorer.restore(on: output, waitingAtMost: .seconds(60)) { ended.signal() }
      }
      // Time for what must not happen.
      if ended.wait(timeout: .now() + 0.1) == .success { ended.signal() }
      var output = output
      output.result(color)
      output.emit()
    }
    ended.wait()
    #expect(try content(folder.path("printed")) == color + TerminalModes.reset)
  }

  // Fails if a terminal that accepts nothing keeps the program from ending.
  @Test("a signal does not wait longer than its limit for an output that is blocked")
  func blockedOutput() throws {
    let restorer = TerminalRestorer(isTerminal: true, isLive: true)
    let ended = DispatchSemaphore(value: 0)
    let output = self.output
    restorer.printing {
      signals.async {
        restorer.restore(on: output, waitingAtMost: .milliseconds(1)) { ended.signal() }
      }
      ended.wait()
    }
    #expect(try content(folder.path("printed")).isEmpty)
  }
}

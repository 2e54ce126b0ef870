import SerialqQueue
@testable import SerialqRunner
import SerialqSystem
import Testing

@Suite struct ExitStatusTests {
  // Fails if the bits are decoded differently from the C macros.
  @Test("a wait status is an exit code or a signal, with or without a core dump")
  func decoding() {
    for code in Int32(0)...255 {
      #expect(Ending(waitStatus: code << 8) == .exited(code))
    }
    for signal in Int32(1)...64 {
      #expect(Ending(waitStatus: signal) == .killed(signal))
      #expect(Ending(waitStatus: signal | 0x80) == .killed(signal))
    }
  }

  // Fails if a name is missing from the table, or real-time signals are counted from another base.
  @Test("signals have their usual names")
  func names() throws {
    #expect(SignalName.of(SIGTERM) == "SIGTERM")
    #expect(SignalName.of(9) == "SIGKILL")
    #expect(SignalName.of(0) == "signal 0")
    #if os(Linux)
      for number in Int32(1)...31 { #expect(SignalName.of(number).hasPrefix("SIG")) }
      #expect(SignalName.of(34) == "SIGRTMIN")
      #expect(SignalName.of(37) == "SIGRTMIN+3")
      #expect(SignalName.of(64) == "SIGRTMIN+30")
      #expect(SignalName.of(32) == "signal 32")
    #endif
  }
}

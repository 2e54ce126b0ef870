import SerialqSystem
import Testing

@testable import SerialqCLI

@Suite struct FrameClockTests {
  private let millisecond: Int64 = 1_000_000

  // Fails if every change is drawn, or one that came too soon is lost.
  @Test("the frame rate is limited, and the last change is always drawn")
  func rate() {
    var clock = FrameClock(startedAt: 0)
    #expect(clock.changed(at: 10 * millisecond) == false)
    #expect(clock.deadline(next: nil) == 50 * millisecond)
    #expect(clock.changed(at: 49 * millisecond) == false)
    #expect(clock.changed(at: 50 * millisecond) == true)
    #expect(clock.deadline(next: nil) == nil)
    #expect(clock.changed(at: 60 * millisecond) == false)
    #expect(clock.deadline(next: nil) == 100 * millisecond)
    #expect(clock.changed(at: 200 * millisecond) == true)
  }

  // Fails if a frame that is due without a change is not drawn.
  @Test("a displayed time is redrawn when its text changes")
  func times() {
    #expect(FrameClock(startedAt: 0).deadline(next: millisecond) == millisecond)
  }
}

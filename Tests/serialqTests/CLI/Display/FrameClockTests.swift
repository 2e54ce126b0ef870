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

  // Fails if the timer fires before the second is over: it would draw the old time, and fire once
  // more.
  @Test("a displayed time is redrawn when its text changes")
  func times() {
    #expect(FrameClock(startedAt: 0).deadline(next: millisecond) == millisecond)
    let rests: [(Int64, Duration, Duration)] = [
      (1, .milliseconds(1_250), .milliseconds(750)), (1, .seconds(3), .seconds(1)),
      (1, .seconds(-3), .seconds(1)), (60, .milliseconds(119_500), .milliseconds(500)),
    ]
    for (unit, elapsed, rest) in rests { #expect(Humanize.rest(of: unit, after: elapsed) == rest) }
  }
}

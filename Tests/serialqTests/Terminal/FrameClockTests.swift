import Testing

@testable import serialq

@Suite struct FrameClockTests {
  private let millisecond: Int64 = 1_000_000

  // Fails if every change is drawn, or one that came too soon is forgotten.
  @Test("frames come no oftener than the eye can follow, and the last change is always drawn")
  func rate() {
    var clock = FrameClock(startedAt: 0)
    #expect(clock.changed(at: 10 * millisecond) == false)
    #expect(clock.timeout(at: 10 * millisecond, elapsed: nil) == 40)
    #expect(clock.changed(at: 49 * millisecond) == false)
    #expect(clock.changed(at: 50 * millisecond) == true)
    #expect(clock.timeout(at: 50 * millisecond, elapsed: nil) == nil)
    #expect(clock.changed(at: 60 * millisecond) == false)
    #expect(clock.timeout(at: 200 * millisecond, elapsed: nil) == 0)
    #expect(clock.changed(at: 200 * millisecond) == true)
  }

  // Fails if it wakes before the second is full, or more than once in it, or with nothing to count.
  @Test("a time that is shown is drawn again when its next second is full")
  func seconds() {
    let clock = FrameClock(startedAt: 0)
    #expect(clock.timeout(at: 0, elapsed: .milliseconds(1_250)) == 750)
    #expect(clock.timeout(at: 0, elapsed: .nanoseconds(999_999_999)) == 1)
    #expect(clock.timeout(at: 0, elapsed: .seconds(3)) == 1_000)
    #expect(clock.timeout(at: 0, elapsed: .seconds(-3)) == 1_000)
    #expect(clock.timeout(at: 0, elapsed: nil) == nil)
  }
}

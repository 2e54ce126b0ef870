import Foundation

/// Whether the long variants of the tests run.
package let isLong = ProcessInfo.processInfo.environment["SERIALQ_LONG"] == "1"

/// Whether models and repeated tests try as much as in CI: `SERIALQ_DEEP=1`, or the long variants.
package let isDeep = isLong || ProcessInfo.processInfo.environment["SERIALQ_DEEP"] == "1"

/// Whether the tests, and the program built with them, run under a sanitizer.
package let isSanitized: Bool = {
  let program = dlopen(nil, RTLD_NOW)
  return dlsym(program, "__tsan_init") != nil || dlsym(program, "__asan_init") != nil
}()

/// Whether a task starts on the calling thread, so that tasks start in the order of the calls.
package let tasksStartHere: Bool = {
  #if OLDEST_SYSTEMS
    false
  #else
    if #available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *) { true } else { false }
  #endif
}()

/// The divisor of repetition counts.
///
/// Under a sanitizer, which reports races and invalid accesses without a failing schedule and makes
/// everything about ten times slower; and in the short form, which takes a fourth of CI's.
package let ease = isLong ? 1 : isSanitized ? 10 : isDeep ? 1 : 4

extension Collection {
  /// Every `ease`-th element, starting at `offset` modulo `ease`.
  package func eased(offset: Int = 0) -> [Element] {
    enumerated().filter { $0.offset % ease == offset % ease }.map(\.element)
  }
}

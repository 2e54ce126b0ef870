import Foundation

/// Whether the variants that take long are wanted.
package let isLong = ProcessInfo.processInfo.environment["SERIALQ_LONG"] == "1"

/// Whether a sanitizer watches the tests, and the program that was built with them.
package let isSanitized: Bool = {
  let program = dlopen(nil, RTLD_NOW)
  return dlsym(program, "__tsan_init") != nil || dlsym(program, "__asan_init") != nil
}()

/// By how much less is tried of what is tried many times when a sanitizer watches, unless all is
/// wanted: it sees in what a program does what could go wrong, and everything takes ten times as long.
package let ease = isSanitized && !isLong ? 10 : 1

extension Collection {
  /// Every `ease`-th element, from the one on that `offset` chooses: all where no sanitizer watches.
  package func eased(offset: Int = 0) -> [Element] {
    enumerated().filter { $0.offset % ease == offset % ease }.map(\.element)
  }
}

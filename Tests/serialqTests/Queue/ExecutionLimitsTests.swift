@testable import SerialqQueue
import SerialqSystem
import Testing

@Suite struct ExecutionLimitsTests {
  // Fails if the final NUL, the pointers or the environment do not count.
  @Test("a command is executable if each string and all together are small enough")
  func limits() {
    let limits = ExecutionLimits(total: 20_000, each: 5_000)
    func fault(_ command: Command, _ environment: [Bytes] = []) -> String? {
      limits.fault(in: command, environment: environment)
    }
    func text(_ count: Int) -> Bytes { Bytes(repeating: 0x61, count: count) }
    #expect(fault(.shell(text(4_999))) == nil)
    #expect(
      fault(.shell(text(5_000)))
        == "it is too long: 5000 bytes; the system takes 4999 in one argument")
    #expect(fault(.arguments([text(1), text(5_000)])) != nil)
    #expect(
      fault(.arguments([text(1)]), [text(5_000)])?.hasPrefix("a variable is too long") == true)
    #expect(fault(.arguments([text(1)]), [text(4_900), text(4_900)]) == nil)
    #expect(fault(.arguments([text(1)]), [text(4_900), text(4_900), text(4_000)]) != nil)
    #expect(fault(.arguments([Bytes](repeating: [], count: 1_500)), []) != nil)
    #expect(
      ExecutionLimits(total: 20_000, each: nil).fault(in: .shell(text(9_000)), environment: [])
        == nil)
  }
}

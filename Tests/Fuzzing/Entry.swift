import SerialqSystem

/// The fuzzer calls this with every input; `SERIALQ_FUZZ` selects the target.
@_cdecl("LLVMFuzzerTestOneInput")
public func testOneInput(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
  let input = Bytes(UnsafeBufferPointer(start: start, count: count))
  if let fault = target.fault(with: input) { fatalError("\(target): \(fault)") }
  return 0
}

private let target: FuzzTarget = {
  let name = getenv("SERIALQ_FUZZ").map { String(cString: $0) } ?? ""
  guard let target = FuzzTarget(rawValue: name) else {
    fatalError("SERIALQ_FUZZ is none of \(FuzzTarget.allCases.map(\.rawValue))")
  }
  return target
}()

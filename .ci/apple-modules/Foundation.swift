// What the tests of the library use of Foundation: declarations only, for type checking.

@_exported import Darwin
@_exported import Dispatch

public struct URL: Sendable {
  public init(fileURLWithPath path: String) {}
  public var path: String { "" }
  public var lastPathComponent: String { "" }
  public func appendingPathComponent(_ name: String) -> URL { self }
  public func deletingLastPathComponent() -> URL { self }
}

public struct UUID: Sendable {
  public init() {}
  public var uuidString: String { "" }
}

public struct Data: RandomAccessCollection, Sendable {
  public var startIndex: Int { 0 }
  public var endIndex: Int { 0 }
  public subscript(_ index: Int) -> UInt8 { 0 }
}

public struct CharacterSet: Sendable, ExpressibleByArrayLiteral {
  public init(arrayLiteral: Unicode.Scalar...) {}
  public static var whitespaces: CharacterSet { [] }
}

extension String {
  public struct Encoding: Sendable {
    public static let utf8 = Encoding()
  }

  public init(contentsOf url: URL, encoding: Encoding) throws { self = "" }
}

extension StringProtocol {
  public func write(to url: URL, atomically: Bool, encoding: String.Encoding) throws {}
  public func trimmingCharacters(in set: CharacterSet) -> String { "" }
}

open class NSObject {
  public init() {}
}

open class NSCondition: NSObject, @unchecked Sendable {
  public override init() {}
  open func lock() {}
  open func unlock() {}
  open func wait() {}
  open func signal() {}
  open func broadcast() {}
}

open class ProcessInfo: NSObject, @unchecked Sendable {
  open class var processInfo: ProcessInfo { ProcessInfo() }
  open var environment: [String: String] { [:] }
  open var activeProcessorCount: Int { 0 }
}

open class FileManager: NSObject, @unchecked Sendable {
  open class DirectoryEnumerator: NSObject {
    open var allObjects: [Any] { [] }
  }
  public struct DirectoryEnumerationOptions: OptionSet, Sendable {
    public let rawValue: UInt
    public init(rawValue: UInt) { self.rawValue = rawValue }
  }

  open class var `default`: FileManager { FileManager() }
  open var temporaryDirectory: URL { URL(fileURLWithPath: "") }
  open func fileExists(atPath path: String) -> Bool { false }
  open func subpathsOfDirectory(atPath path: String) throws -> [String] { [] }
  open func removeItem(at url: URL) throws {}
  open func createDirectory(
    at url: URL, withIntermediateDirectories createIntermediates: Bool, attributes: [String: Any]? = nil
  ) throws {}
  open func enumerator(
    at url: URL, includingPropertiesForKeys keys: [String]?, options: DirectoryEnumerationOptions = [],
    errorHandler: ((URL, any Error) -> Bool)? = nil
  ) -> DirectoryEnumerator? { nil }
}

open class FileHandle: NSObject, @unchecked Sendable {
  public func readToEnd() throws -> Data? { nil }
  open func readDataToEndOfFile() -> Data { Data() }
}

open class OperationQueue: NSObject, @unchecked Sendable {
  public override init() {}
  open var maxConcurrentOperationCount = 0
  public func addOperation(_ block: @escaping @Sendable () -> Void) {}
}

open class Pipe: NSObject, @unchecked Sendable {
  public override init() {}
  open var fileHandleForReading: FileHandle { FileHandle() }
}

open class Process: NSObject, @unchecked Sendable {
  public override init() {}
  open var executableURL: URL?
  open var arguments: [String]?
  open var standardOutput: Any?
  open var standardError: Any?
  open var terminationStatus: Int32 { 0 }
  open func run() throws {}
  open func waitUntilExit() {}
}

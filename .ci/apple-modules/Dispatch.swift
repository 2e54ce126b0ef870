// What the sources use of Dispatch on Apple's systems: declarations only, for type checking.

public class DispatchObject {
  init() {}
  public func activate() {}
  public func resume() {}
  public func suspend() {}
}

public final class DispatchQueue: DispatchObject, @unchecked Sendable {
  public struct Attributes: OptionSet, Sendable {
    public let rawValue: UInt64
    public init(rawValue: UInt64) { self.rawValue = rawValue }
    public static let concurrent = Attributes(rawValue: 1)
  }
  public enum AutoreleaseFrequency: Sendable { case inherit, workItem, never }

  public class var main: DispatchQueue { DispatchQueue(label: "") }
  public class func global(qos: DispatchQoS.QoSClass = .default) -> DispatchQueue { main }
  public class func getSpecific<T>(key: DispatchSpecificKey<T>) -> T? { nil }

  public convenience init(
    label: String, qos: DispatchQoS = .unspecified, attributes: Attributes = [],
    autoreleaseFrequency: AutoreleaseFrequency = .inherit, target: DispatchQueue? = nil
  ) { self.init() }

  public var label: String { "" }
  public func getSpecific<T>(key: DispatchSpecificKey<T>) -> T? { nil }
  public func setSpecific<T>(key: DispatchSpecificKey<T>, value: T?) {}
  public func async(
    group: DispatchGroup? = nil, qos: DispatchQoS = .unspecified, flags: DispatchWorkItemFlags = [],
    execute work: @escaping @Sendable @convention(block) () -> Void
  ) {}
  public func sync<T>(execute work: () throws -> T) rethrows -> T { try work() }
  public class func concurrentPerform(iterations: Int, execute work: (Int) -> Void) {}
}

public final class DispatchSpecificKey<T> { public init() {} }
extension DispatchSpecificKey: Sendable where T: Sendable {}

public final class DispatchGroup: DispatchObject, @unchecked Sendable {
  public override init() {}
  public func enter() {}
  public func leave() {}
  public func wait() {}
  public func wait(timeout: DispatchTime) -> DispatchTimeoutResult { .success }
}

public final class DispatchSemaphore: DispatchObject, @unchecked Sendable {
  public init(value: Int) {}
  public func wait() {}
  public func wait(timeout: DispatchTime) -> DispatchTimeoutResult { .success }
  @discardableResult public func signal() -> Int { 0 }
}

public enum DispatchTimeoutResult: Sendable { case success, timedOut }

public struct DispatchWorkItemFlags: OptionSet, Sendable {
  public let rawValue: UInt
  public init(rawValue: UInt) { self.rawValue = rawValue }
}

public struct DispatchQoS: Equatable, Sendable {
  public enum QoSClass: Sendable {
    case background, utility, `default`, userInitiated, userInteractive, unspecified
  }
  public static let unspecified = DispatchQoS(qosClass: .unspecified, relativePriority: 0)
  public static let `default` = DispatchQoS(qosClass: .default, relativePriority: 0)
  public let qosClass: QoSClass
  public let relativePriority: Int
  public init(qosClass: QoSClass, relativePriority: Int) {
    self.qosClass = qosClass
    self.relativePriority = relativePriority
  }
}

public struct DispatchTime: Comparable, Sendable {
  public let rawValue: UInt64
  public static func now() -> DispatchTime { distantFuture }
  public static let distantFuture = DispatchTime(rawValue: ~0)
  public var uptimeNanoseconds: UInt64 { rawValue }
  init(rawValue: UInt64) { self.rawValue = rawValue }
  public init(uptimeNanoseconds: UInt64) { rawValue = uptimeNanoseconds }
  public static func < (a: DispatchTime, b: DispatchTime) -> Bool { a.rawValue < b.rawValue }
}

public enum DispatchTimeInterval: Equatable, Sendable {
  case seconds(Int), milliseconds(Int), microseconds(Int), nanoseconds(Int), never
}

public func + (time: DispatchTime, interval: DispatchTimeInterval) -> DispatchTime { time }

public protocol DispatchSourceProtocol: AnyObject {
  func setEventHandler(handler: (@convention(block) () -> Void)?)
  func activate()
  func resume()
  func cancel()
}

public protocol DispatchSourceTimer: DispatchSourceProtocol {
  func schedule(
    deadline: DispatchTime, repeating interval: DispatchTimeInterval, leeway: DispatchTimeInterval)
}

extension DispatchSourceTimer {
  public func schedule(
    deadline: DispatchTime, repeating interval: DispatchTimeInterval = .never,
    leeway: DispatchTimeInterval = .nanoseconds(0)
  ) {}
}

public final class DispatchSource: DispatchObject, DispatchSourceTimer {
  public struct TimerFlags: OptionSet, Sendable {
    public let rawValue: UInt
    public init(rawValue: UInt) { self.rawValue = rawValue }
    public static let strict = TimerFlags(rawValue: 1)
  }
  public class func makeTimerSource(flags: TimerFlags = [], queue: DispatchQueue? = nil)
    -> any DispatchSourceTimer
  { DispatchSource() }
  public func setEventHandler(handler: (@convention(block) () -> Void)?) {}
  public func cancel() {}
  public func schedule(
    deadline: DispatchTime, repeating interval: DispatchTimeInterval, leeway: DispatchTimeInterval
  ) {}
}
public func + (time: DispatchTime, seconds: Double) -> DispatchTime { time }

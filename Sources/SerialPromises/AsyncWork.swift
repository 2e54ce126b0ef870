/// The asynchronous work that the current task does: a step's or a promise's.
///
/// For progress that a callback reports on a thread outside the task, where ``reportProgress(_:)``
/// has no effect:
///
/// ```swift
/// try await manager.run("send") {
///   let work = AsyncWork.current
///   try await send(file, progress: { work?.progress($0) })
/// }
/// ```
///
/// The value may be used on any thread, as long as needed. It retains neither the manager nor,
/// after the end of the work, the promise.
public struct AsyncWork: Sendable {
  private let mark: RunningStep.Mark

  /// The innermost work that the calling code is part of; nil outside asynchronous work.
  ///
  /// It is the code in ``PromiseManager/run(_:at:waitingAtMost:_:)``,
  /// ``PromiseManager/enqueue(_:at:file:line:_:)`` or
  /// ``PromiseManager/withTurn(_:at:waitingAtMost:_:)``, the work of `Promise { try await … }`, or
  /// an asynchronous handler of `then`, `map` or `recover`. Child tasks, and tasks made with `Task
  /// { }`, are part of it; detached tasks, dispatch queues and the threads of other libraries are
  /// not.
  ///
  /// ```swift
  /// try await manager.run("send") {
  ///   let work = AsyncWork.current
  ///   try await send(file, progress: { work?.progress($0) })
  /// }
  /// ```
  public static var current: AsyncWork? {
    let mark = RunningStep.local.get()
    return mark.work != nil || mark.step?.isCode == true ? AsyncWork(mark: mark) : nil
  }

  /// Reports the progress of the work.
  ///
  /// A value that decreases or is outside 0…1 has no effect and is reported, as
  /// ``Diagnostic/progressIgnored(_:current:reported:)`` of a step or
  /// ``Diagnostic/promiseProgressIgnored(_:current:reported:)`` of a promise. Differences within
  /// the precision of `Float` are ignored. After the end of the work, a call has no effect, and is
  /// not reported.
  ///
  /// ```swift
  /// try await manager.run("send") {
  ///   let work = AsyncWork.current
  ///   try await send(file, progress: { work?.progress($0) })
  /// }
  /// ```
  ///
  /// - Parameter fraction: The progress from 0 to 1.
  public func progress(_ fraction: Double) {
    if let work = mark.work { work.report(fraction) } else { mark.step?.report(fraction) }
  }
}

/// Reports the progress of the asynchronous work that the calling code is part of.
///
/// ```swift
/// let uploaded = manager.enqueue("upload") {
///   for (index, part) in parts.enumerated() {
///     try await upload(part)
///     reportProgress(Double(index + 1) / Double(parts.count))
///   }
/// }
/// uploaded.progressed { fraction in show("\(Int(fraction * 100)) %") }
/// ```
///
/// It counts for the innermost work, see ``AsyncWork/current``, and has no effect outside any: a
/// function that reports can be called anywhere. A callback on another thread is outside: it needs
/// an ``AsyncWork``. Values are treated as by ``AsyncWork/progress(_:)``. Child tasks that work at
/// the same time report for the whole work, not each for its part.
///
/// - Parameter fraction: The progress from 0 to 1.
public func reportProgress(_ fraction: Double) {
  AsyncWork.current?.progress(fraction)
}

import SerialqQueue
import SerialqSystem

extension Session {
  /// `serialq set`: shows or changes the settings of a queue.
  mutating func set(_ call: Invocation.Set) throws(Failure) {
    guard let change = call.change else {
      let settings = try readQueue(named: call.queue)?.1.settings ?? Queue.Settings()
      return output.result(settings.table)
    }
    // A queue can be configured before its first job.
    let folder = try spool().makeQueue(named: Bytes(call.queue.utf8))
    try Journal(folder).locked { (scope) throws(Failure) in
      try scope.append([.set(try setting(change, scope), at: Clock.now())])
    }
  }

  private func setting(
    _ change: Invocation.Set.Change, _ scope: JournalScope
  ) throws(Failure) -> Setting {
    switch change {
    case .stopsOnFailure(let stops): return .stopsOnFailure(stops)
    case .keep(let count): return .keep(count)
    case .onFinish(nil): return .onFinish(nil)
    case .onFinish(let line?):
      let directory = try attempt("finding the current directory") { () throws(SystemError) in
        try Machine.directory()
      }
      return .onFinish(
        Hook(
          line: line, directory: directory,
          environment: try scope.storeEnvironment(Machine.environment()), umask: Machine.umask()))
    }
  }
}

extension Queue.Settings {
  /// The settings in the form that `serialq set` accepts.
  fileprivate var table: String {
    let hook = onFinish.map { ShellQuote.word($0.line) } ?? "''"
    return """
      on-failure  \(stopsOnFailure ? "stop" : "continue")
      on-finish   \(hook)
      keep        \(keep.map { "\($0)" } ?? "all")

      """
  }
}

import SerialqQueue
import SerialqSystem

extension Job {
  func write(to json: inout JSONWriter, in folder: QueueFolder, of queue: Queue) {
    json.object { json in
      json.member("id", id)
      json.member("state", Bytes(state.name))
      json.member("command", command.words)
      json.member("shell", command.line)
      json.member("label", label)
      json.member("key", key)
      json.member("directory", context.directory)
      json.member("input", folder.input(of: self))
      json.member("exitCode", exitCode)
      json.member("signal", signalName)
      json.member("pid", running?.pid.map { Int($0) })
      json.member("attempt", state == .waiting && !hasRun ? nil : attempts)
      json.member("added", added.rfc3339)
      json.member("started", started?.rfc3339)
      json.member("ended", ended?.rfc3339)
      json.key("duration")
      json.double(duration.map { Double($0) / 1e9 })
      json.member("timeout", limits.timeout > 0 ? limits.timeout : nil)
      json.member("retries", limits.retries)
      json.member("retryDelay", limits.retryDelay)
      json.member("ifOk", limits.ifOK)
      json.key("after")
      let required = limits.after.lazy.flatMap(queue.jobs(in:))
      json.array { json in for job in required { json.int(Int64(job.id)) } }
      json.member("skippedBecause", skippedBecause)
      json.member("suspended", suspendedSince?.rfc3339)
      json.member("tty", hasTerminal)
      json.key("asks")
      if let question { question.write(to: &json) } else { json.null() }
      json.member("unlogged", execution?.unlogged)
      json.member("unreachable", execution?.left)
      json.key("launcher")
      if let launch = execution?.launch { launch.write(to: &json) } else { json.null() }
      json.member("log", folder.log(id))
      json.member("onFinishFailure", failure: over?.hookFailure)
    }
  }
}

extension JSONWriter {
  /// How a command of the settings failed, or null.
  mutating func member(_ name: StaticString, failure: Ending?) {
    key(name)
    guard let failure else { return null() }
    object { json in
      json.member("exitCode", failure.exitCode)
      json.member("signal", failure.signalName)
    }
  }
}

extension Launch {
  fileprivate func write(to json: inout JSONWriter) {
    json.object { json in
      json.member("command", command)
      json.member("job", job)
      json.member("node", node)
      json.member("started", started?.rfc3339)
      json.member("lost", lost)
    }
  }
}

extension Question {
  fileprivate func write(to json: inout JSONWriter) {
    json.object { json in
      json.member("kind", Bytes(kind.rawValue.utf8))
      json.member("text", text)
    }
  }
}

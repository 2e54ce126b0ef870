/// A line of the journal; the state of a queue is what the last line about each thing says.
package enum Entry: Equatable, Sendable {
  /// What a job is asked to do; adds the job, or changes it.
  case job(JobID, JobSpec)
  /// How a job is now.
  indirect case status(JobID, JobStatus)
  indirect case queue(QueueProperties)
  /// Finished jobs to remove from the queue.
  case forgotten([ClosedRange<JobID>])
}

/// An entry with the metadata of its journal line.
package struct Record: Equatable, Sendable {
  var entry: Entry
  /// The next free id after this entry.
  var next: JobID
  /// The number of lines of the same batch that follow.
  var more: Int
  /// Whether the queue is paused after this entry; lets `add` read it from the last line alone.
  var isPaused = false
  /// Where the line began in the journal when it was written, which the coder knows.
  var byte = 0
}

extension Entry {
  /// The job that it is about.
  package var job: JobID? {
    switch self {
    case .job(let id, _), .status(let id, _): id
    case .queue, .forgotten: nil
    }
  }

  /// The jobs that it removes.
  package var forgottenIDs: [ClosedRange<JobID>] {
    if case .forgotten(let ids) = self { ids } else { [] }
  }

  /// Writes an entry, or reads one: nil.
  ///
  /// Its first member says what it is about.
  static func coded(
    _ entry: Entry?, by coder: inout LineCoder
  ) throws(FlatObjectError) -> Entry {
    switch entry ?? unread(coder) {
    case .job(var id, var spec):
      try coder.id("job", &id)
      try spec.code(&coder)
      return .job(id, spec)
    case .status(var id, var status):
      try coder.id("run", &id)
      try status.code(&coder)
      return .status(id, status)
    case .queue(var properties):
      var isThere = true
      try coder.flag("queue", &isThere)
      try properties.code(&coder)
      return .queue(properties)
    case .forgotten(var ids):
      try coder.ranges("forgotten", &ids)
      // Otherwise a line about nothing.
      if coder.isReading, ids.isEmpty { throw .malformed }
      return .forgotten(ids)
    }
  }

  private static func unread(_ coder: LineCoder) -> Entry {
    if coder.has("run") { return .status(0, JobStatus()) }
    if coder.has("job") { return .job(0, .unread) }
    return coder.has("queue") ? .queue(QueueProperties()) : .forgotten([])
  }
}

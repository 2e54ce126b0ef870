import SerialqSystem

/// Jobs as a user names them: `3`, `3-7`, `1,2,5-7`, or a label, which means the latest job that
/// has it.
///
/// Pure: says which jobs it means only together with a ``Queue``.
package struct JobSelection: Equatable, Sendable {
  fileprivate enum Part: Equatable, Sendable {
    case ids(ClosedRange<JobID>)
    /// Also any word that is not an id: only the queue knows its labels.
    case label(Bytes)
  }

  fileprivate var parts: [Part]

  package init(_ words: [Bytes] = []) {
    parts = words.flatMap(Self.parts)
  }

  package init(_ word: Bytes) { self.init([word]) }

  package init(_ id: JobID) { parts = [.ids(id...id)] }

  package var isEmpty: Bool { parts.isEmpty }

  /// Whether it has ids only, and no label.
  package var isOfIDs: Bool { parts.allSatisfy { if case .ids = $0 { true } else { false } } }

  /// Whether it can mean one job only.
  package var namesOneJob: Bool {
    guard let part = parts.first, parts.count == 1 else { return false }
    switch part {
    case .ids(let range): return range.count == 1
    case .label(let label): return !label.isEmpty
    }
  }

  /// A list is one of ids only: a label may contain a comma.
  private static func parts(of word: Bytes) -> [Part] {
    let items = word.split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false)
    let ranges = items.compactMap { ClosedRange<JobID>(Bytes($0)) }
    return ranges.count == items.count ? ranges.map { .ids($0) } : [.label(word)]
  }
}

extension Queue {
  /// The selected jobs, in this order and without duplicates; fails if a part selects none.
  ///
  /// O(log n) for each id, O(n) for each label.
  package func jobs(_ selection: JobSelection, in name: String) throws(Failure) -> [Job] {
    var seen: Set<JobID> = []
    var found: [Job] = []
    for part in selection.parts {
      switch part {
      case .ids(let range):
        found += try jobs(range, in: name).filter { seen.insert($0.id).inserted }
      case .label(let label):
        let job = try latestJob(labeled: label, in: name)
        if seen.insert(job.id).inserted { found.append(job) }
      }
    }
    return found
  }

  /// The ids of the jobs that are selected by `--after`, ascending.
  ///
  /// Here a list may also contain labels, unless a job has the whole list as its label.
  package func ranges(
    of selection: JobSelection, in name: String
  ) throws(Failure) -> [ClosedRange<JobID>] {
    var selection = selection
    selection.parts = selection.parts.flatMap { part in
      guard case .label(let label) = part, !jobs.contains(where: { $0.label == label }) else {
        return [part]
      }
      let items = label.split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false)
      return JobSelection(items.map { Bytes($0) }).parts
    }
    do throws(Failure) {
      return JobID.ranges(of: try jobs(selection, in: name).map(\.id).sorted())
    } catch {
      throw error.of("--after")
    }
  }

  /// The only selected job, for a selection that names one.
  package func job(_ selection: JobSelection, in name: String) throws(Failure) -> Job {
    let jobs = try jobs(selection, in: name)
    guard let job = jobs.first, jobs.count == 1 else {
      throw Failure(
        "the jobs", "\(jobs.count) are selected instead of one",
        next: "See all with: \(advised("list", in: name))")
    }
    return job
  }

  private func jobs(
    _ range: ClosedRange<JobID>, in name: String
  ) throws(Failure) -> ArraySlice<Job> {
    let part = jobs(in: range)
    guard part.isEmpty else { return part }
    let (isOne, keep) = (range.count == 1, settings.keep)
    let last = jobs.last.map { "its last job is \($0.id)" } ?? "it has no jobs"
    throw Failure(
      "\(isOne ? "job" : "jobs") \(range.text)",
      // Every id below the next one was given. With keep, a clean may have come first.
      range.upperBound < nextID
        ? "\(isOne ? "it was" : "they were") removed (\(keep.map { "keep \($0) or clean" } ?? "clean"))"
        : "queue \(name) has no such job; \(last)",
      next: "See all with: \(advised("list", in: name))")
  }

  private func latestJob(labeled label: Bytes, in name: String) throws(Failure) -> Job {
    // A job without a label is not one with an empty label.
    if !label.isEmpty, let job = jobs.last(where: { $0.label == label }) { return job }
    throw Failure(
      label.isEmpty ? "''" : Visible.text(label),
      "not a job id, and no job of queue \(name) has this label",
      next: "See all with: \(advised("list", in: name))")
  }
}

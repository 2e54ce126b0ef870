import SerialqQueue
import SerialqRunner
import SerialqSystem

extension Session {
  /// `serialq report`: shows when the jobs of a queue ran.
  mutating func report(_ call: Invocation.Report) throws(Failure) {
    var attempts = EarlierAttempts()
    let found = try readQueue(named: call.queue) { attempts.take($0) }
    let now = Clock.reading()
    let standard = call.page == nil ? QueueReport.rowsOnTerminal : QueueReport.rowsOnPage
    var report = QueueReport(
      call.queue, found?.1 ?? Queue(), attempts, at: now, last: call.last ?? standard)
    guard let path = call.page else {
      let lines = TerminalReport(report: report, columns: traits.width ?? 80).lines
      for line in lines { output.result(line.rendered(color: traits.hasColor) + "\n") }
      return
    }
    if let (folder, queue) = found {
      report.series = DurationSeries.all(queue.jobs, at: now)
      report.troubles = try troubles(of: queue, folder)
    }
    let page = HTMLReport(report: report).page
    guard path != Bytes("-") else { return output.result(page) }
    do throws(SystemError) {
      try UserFile.replace(path, by: Bytes(page.utf8))
    } catch {
      throw Failure(
        "writing \(path.text)", "\(error.text) (\(error.call))",
        next: "Give --html another path, or - for standard output.")
    }
  }

  /// The latest failures, newest first, with the ends of their logs.
  private func troubles(
    of queue: Queue, _ folder: QueueFolder
  ) throws(Failure) -> [QueueReport.Trouble] {
    let failed = queue.jobs.filter(\.state.isFailure).sorted { one, other in
      (one.run?.ended ?? one.added, one.id) > (other.run?.ended ?? other.added, other.id)
    }
    var troubles: [QueueReport.Trouble] = []
    for job in failed.prefix(QueueReport.mostTroubles) {
      let tail = try LogReader.tail(
        of: folder.log(job.id), lines: QueueReport.troubleLines,
        bytes: Int64(QueueReport.troubleBytes))
      troubles.append(QueueReport.Trouble(job: job, tail: tail))
    }
    return troubles
  }
}

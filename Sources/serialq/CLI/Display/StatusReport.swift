import SerialqQueue
import SerialqRunner
import SerialqSystem

/// What is going on in a queue, whether anything went wrong, and what to type next.
///
/// Trouble first, then what runs, what waits and how far it all is. Pure: from what is known to
/// lines, for a terminal of any size or for none. All text has to be visible already.
struct StatusReport: Equatable {
  /// A failure of which nobody has taken note.
  struct Trouble: Equatable {
    var id: JobID
    var title: String
    /// As a sentence goes on after "job 3".
    var outcome: String
    var age: Duration?
    /// The end of its output.
    var tail: [String] = []
  }

  struct Running: Equatable {
    /// Who will see its end.
    enum Guardian: Equatable {
      case runner
      /// The job lives, and a new runner waits for its end before it starts another.
      case waitingRunner
      /// The job lives, and nobody waits for it.
      case nobody
      /// Nor does the job live any more.
      case gone
    }

    var id: JobID
    var title: String
    var elapsed: Duration?
    /// How long it took when it ran before.
    var expected: Duration?
    /// The process group of one whose runner died.
    var process: Int32?
    var guardian = Guardian.runner
    /// The signal with which it was asked to end.
    var signal: String?
    var tail: [String] = []
  }

  /// What else went wrong, and the command that shows it.
  struct Note: Equatable {
    var text: String
    var adviceName: String
    var advice: String
  }

  struct Waiting: Equatable {
    var count: Int
    var next: JobID
    var title: String
    /// Until it may be started.
    var delay: Duration?
  }

  struct Pause: Equatable {
    var age: Duration?
    var because: JobID?
  }

  var queue: String
  var troubles: [Trouble] = []
  /// More failures than are shown.
  var moreTroubles = 0
  var notes: [Note] = []
  var running: [Running] = []
  var pause: Pause?
  var waiting: Waiting?
  var hasRunner = false
  var bar = ProgressBar(over: 0, failed: 0, running: 0, waiting: 0)
  var left: Duration?
  /// How many there are in each state, in words; empty without jobs.
  var counts: [String] = []
  /// Whether there are other queues.
  var hasOthers = false

  /// How much of it is shown, where there is not room for everything.
  struct Detail {
    var troubles = 3
    var troubleTail = 3
    var runningTail = 3
    var hasAdvice = true

    /// From all to the least.
    static let all = [
      Detail(), Detail(troubleTail: 1), Detail(troubleTail: 0, runningTail: 1),
      Detail(troubles: 1, troubleTail: 0, runningTail: 1),
      Detail(troubles: 1, troubleTail: 0, runningTail: 0),
      Detail(troubles: 1, troubleTail: 0, runningTail: 0, hasAdvice: false),
    ]
  }

  /// The lines, however long they are; `columns` is for the bar, which only terminals get.
  func lines(_ detail: Detail = Detail(), columns: Int? = nil) -> [StyledLine] {
    guard !counts.isEmpty else { return [StyledLine("Queue \(queue) is empty.")] + advice }
    let noteLines = notes.map { StyledLine($0.text, .yellow) }
    var blocks = [troubleLines(detail), noteLines] + running.map { lines(of: $0, detail) }
    blocks.append(summary(columns))
    if detail.hasAdvice { blocks.append(advice) }
    return Array(blocks.filter { !$0.isEmpty }.joined(separator: [StyledLine()]))
  }

  /// The lines for a terminal on which they are drawn over and over: each shorter than it is wide,
  /// and with as much detail as there are rows for.
  func lines(in window: TerminalWindow) -> [StyledLine] {
    let columns = max(1, window.columns - 1)
    let rows = max(1, window.rows - 1)
    var lines: [StyledLine] = []
    for detail in Detail.all {
      lines = self.lines(detail, columns: columns)
      if lines.count <= rows { break }
    }
    return lines.prefix(rows).map { $0.fitted(to: columns) }
  }

  /// In how long any of the times in it is written differently; nil if there is none.
  var changesIn: Duration? {
    let seconds = running.compactMap { $0.elapsed.map { Humanize.rest(of: 1, after: $0) } }
    let delay = waiting?.delay.map(Humanize.untilLess)
    let ages = (troubles.map(\.age) + [pause?.age]).compactMap { age in
      age.map { Humanize.rest(of: 60, after: $0) }
    }
    return (seconds + [delay].compactMap(\.self) + ages).min()
  }
}

import SerialqQueue
import SerialqSystem

/// A parsed command line.
enum Invocation: Equatable {
  case add(Add)
  case run(Run)
  case list(List)
  case status(Status)
  case show(Show)
  case log(Log)
  case report(Report)
  case wait(Wait)
  case ack(Ack)
  case cancel(Cancel)
  case retry(Retry)
  case move(Move)
  case edit(Edit)
  case pause(Pause)
  case resume(Pause)
  case clean(Clean)
  case set(Set)
  case queues(json: Bool)
  /// For one command, or the overview if nil.
  case help(CommandName?)
  case manual
  /// For the program at this path; nil for this one.
  case systemdUnit(Bytes?)
  case completion(CompletionScript)
  /// The completions of the last of these words.
  case completionWords([Bytes])
  case version
  /// Internal; see ``BackgroundRunner``.
  case backgroundRunner(queue: String)

  struct Add: Equatable {
    var job: JobOptions
    var source: JobSource
    var startsRunner = true
    var json: Bool
  }

  struct Run: Equatable {
    var job: JobOptions
    /// The jobs to add first; `nil` runs only those already waiting.
    var source: JobSource?
  }

  struct List: Equatable {
    var queue: String
    /// Names from `CommandTable.states`; empty for all states.
    var states: [String]
    var onlyFailed: Bool
    var last: Int?
    var json: Bool
  }

  struct Status: Equatable {
    var queue: String
    /// Refreshes the output until interrupted.
    var watches = false
    var json: Bool
  }

  struct Show: Equatable {
    var queue: String
    var id: Int
    var showsEnvironment: Bool
    var json: Bool
  }

  struct Log: Equatable {
    var queue: String
    /// If `nil`, selects the whole queue when following, else the job that ran last.
    var id: Int?
    var follows: Bool
  }

  struct Report: Equatable {
    var queue: String
    /// The output file of the page, `-` for standard output; `nil` prints to the terminal.
    var page: Bytes?
    var last: Int?
  }
}

enum JobSource: Equatable {
  case command(Command)
  /// A file of command lines; `-` is standard input.
  case file(Bytes)
}

/// How to run the added jobs.
struct JobOptions: Equatable {
  var queue: String
  var label: Bytes?
  var directory: Bytes?
  /// `NAME=VALUE` in the given order; the last one for a name wins.
  var environment: [Bytes]
  var limits = Limits.none
  var isFirst = false
  /// Whether to skip jobs that are already waiting.
  var isUnique = false
}

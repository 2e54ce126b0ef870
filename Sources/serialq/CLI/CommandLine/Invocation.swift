import SerialqQueue
import SerialqSystem

/// What one call of the program asks for.
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
  /// Of one command, or of the whole program.
  case help(CommandName?)
  case manual
  /// For the program at this path; nil for this one.
  case systemdUnit(Bytes?)
  /// The script for a shell.
  case completion(CompletionScript)
  /// What the last of these words can become.
  case completionWords([Bytes])
  case version
  /// Not for people; see ``BackgroundRunner``.
  case backgroundRunner(queue: String)

  struct Add: Equatable {
    var job: JobOptions
    var source: JobSource
    var startsRunner = true
    var json: Bool
  }

  struct Run: Equatable {
    var job: JobOptions
    /// What to queue first; `nil` runs only what waits already.
    var source: JobSource?
  }

  struct List: Equatable {
    var queue: String
    /// Names out of `CommandTable.states`; empty means every state.
    var states: [String]
    var onlyFailed: Bool
    var last: Int?
    var json: Bool
  }

  struct Status: Equatable {
    var queue: String
    /// Keeps it up to date until interrupted.
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
    /// `nil` means the whole queue when following, else the job that ran last.
    var id: Int?
    var follows: Bool
  }

  struct Report: Equatable {
    var queue: String
    /// Where the page goes, `-` for standard output; `nil` draws on the terminal.
    var page: Bytes?
    var last: Int?
  }
}

/// Where a call's jobs come from.
enum JobSource: Equatable {
  case command(Command)
  /// A file of command lines; `-` is standard input.
  case file(Bytes)
}

/// How a call's jobs are to run.
struct JobOptions: Equatable {
  var queue: String
  var label: Bytes?
  var directory: Bytes?
  /// `NAME=VALUE`, in the order given: the last of a name counts.
  var environment: [Bytes]
  var limits = Limits.none
  var isFirst = false
  /// Whether a job is left out if the same waits already.
  var isUnique = false
}

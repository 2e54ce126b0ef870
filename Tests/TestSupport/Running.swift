/// What a runner does.
package enum Running: String, Guarantee {
  package static let subject = "serialq, the runner"

  case oneRunner = "A queue has one runner; of two that start at once one works"
  case kernelLock = "That a runner is at work is told by a kernel lock, not by a number in a file"
  case order = "Jobs run one after another, in their order, each once"
  case endIsRecorded = "The next job starts when the end of the one before it is recorded"
  case background = "A background runner has a session of its own and nothing of its caller's"
  case addReturns = "An add in a pipe, in $( ) or at a terminal that goes away returns at once"
  case hangup = "A hangup does not end a background runner"
  case noLostWakeUp = "A job is never left waiting with nobody at work"
  case noPolling = "A runner and a wait that have nothing to do sleep"
  case orphans = "After a kill -9 of the runner no job overlaps another, is lost or runs twice"
  case orphansAreNamed =
    "Meanwhile status names the job and the process that is waited for, and how to end it"
  case leftovers = "A process that a job left behind does not hold up the queue"
  case stopsInOrder = "The first SIGINT or SIGTERM ends a run's job in order and keeps the rest"
  case reboot = "After a reboot resume --all runs what waits in every queue"
  case bootEntries = "The manual's lines for crontab and systemd do that"
}

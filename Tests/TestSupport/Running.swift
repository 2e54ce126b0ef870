/// The guarantees of the runner.
package enum Running: String, Guarantee {
  package static let subject = "serialq, the runner"

  case oneRunner = "A queue has one runner; of two started at the same time, one runs the jobs"
  case kernelLock = "A kernel lock, not a process ID in a file, shows that a runner is active"
  case order = "Jobs run one at a time, in order, each once"
  case endIsRecorded = "The next job starts after the end of the preceding one is recorded"
  case background = "A background runner has its own session and inherits nothing from its caller"
  case addReturns = "An add in a pipe, in $( ) or at a terminal that closes returns at once"
  case hangup = "A hangup does not end a background runner"
  case noLostWakeUp = "No job waits without an active runner"
  case noPolling = "An idle runner and a blocked wait sleep without polling"
  case orphans = "After a kill -9 of the runner no job overlaps another, is lost or runs twice"
  case orphansAreNamed =
    "Until an orphaned job ends, status names the job, its process, and how to end it"
  case holders =
    "The end of a canceled or timed-out job includes all processes that hold its lock"
  case suspends =
    "pause --now stops all processes that hold the running job's lock, and resume continues them"
  case leftovers = "A process left behind by a job does not block the queue"
  case stopsInOrder = "The first SIGINT or SIGTERM ends the running job cleanly and keeps the rest"
  case reboot = "After a reboot start --all runs the waiting jobs of every queue that is not paused"
  case bootEntries = "The crontab entry of the manual and the systemd unit run start --all at boot"
}

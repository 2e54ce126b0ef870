import SerialqSystem

extension Manual {
  static let internals = #"""
    .Sh INTERNALS
    .Ss The journal
    A line is a JSON object, for example, in one line:
    .Bd -literal -offset indent
    {"v":1,"e":"started","id":3,"at":"2026-01-31T12:00:00.123456Z",
    "attempt":1,"boot":"...","next":18,"sum":"9ae0daaf"}
    .Ed
    .Pp
    .Va v
    is the version of the format,
    .Va e
    is the event, and
    .Va next
    is the next free id;
    .Va more
    is the number of lines of the same batch that follow, and
    .Va paused
    means that the queue is paused.
    .Va sum
    is the CRC-32 of everything before it and its comma, in eight hexadecimal
    digits.
    Replaying the lines produces the state of the queue.
    The format guarantees:
    .Bl -bullet
    .It
    Any prefix of a journal is a queue.
    An incomplete line or batch at the end is ignored, and cut off before the next
    append.
    .It
    A damaged line affects only itself:
    it is reported, ignored, and moved to
    .Pa damaged
    when the journal is next rewritten.
    .It
    A line of a newer version is refused with a message, and nothing is changed.
    .It
    .Cm add ,
    like every command that changes a queue, returns when its line is on disk
    (fdatasync(2)).
    It reads only the last line of the journal, unless
    .Fl -unique
    is given.
    .It
    The start of a job is on disk before its process exists.
    .It
    The end of a job is on disk before the next job starts, before the on-finish
    command runs, and before
    .Cm wait
    reports it.
    .It
    A journal that is mostly history is rewritten to a new file, which is flushed
    and replaces the old one.
    .El
    .Ss Locks
    All locks are flock(2) locks, which the kernel releases when a process ends for
    any reason;
    there is no PID file that could become stale.
    A runner holds
    .Pa runner.lock .
    A job inherits a descriptor that holds its own lock, which shows that the job is
    alive after its runner died:
    the next runner waits for the job, and
    .Cm status
    shows which job that is and how to end it.
    A process that a job left behind and that survives the normal end of the job
    does not block the queue; nor does a process that has left the process group of
    a job whose runner died.
    .Pp
    An
    .Cm add
    that finds an active runner, and a runner that finds no work, decide under the
    lock of the journal, so that no job is left without a runner.
    Nothing polls:
    a runner sleeps until its job ends, the journal grows or a deadline is reached.
    .Ss Stopping
    To cancel a job, or end it at its timeout,
    .Nm
    sends a signal to its process group, and SIGKILL 10 seconds later.
    The first SIGINT, SIGTERM or SIGHUP to
    .Cm run
    ends its job in this way and starts no other;
    the second kills the job.
    A job that ends because a background runner is stopped, for example at shutdown,
    is interrupted, not cancelled:
    the runner was stopped, not the job.

    """#

  static let assumptions = #"""
    .Sh ASSUMPTIONS
    The folder that holds the queues is on a local file system on which
    fdatasync(2) and rename(2) keep their guarantees, and flock(2) works between
    processes.
    A queue is used by one user on one machine.
    On Linux,
    .Pa /proc
    is mounted.
    .Pp
    A process that leaves the job's process group or session, as a daemon does, is
    no longer part of the job:
    it is not ended with the job, and not waited for once the job has ended.
    A job that closes all unknown descriptors releases its lock;
    if its runner is then killed, the next job could start while it still runs.

    """#

  static let caveats = #"""
    .Sh CAVEATS
    .Nm
    runs one command at a time:
    it has no parallel jobs, no dependencies except
    .Fl -if-ok ,
    no scheduling by date, and no remote machines.
    .Pp
    A job's command, directory and log are readable only by its user, but its
    arguments are visible to all users in ps(1) while it runs.
    Its environment, including secrets, is stored with the queue until the job is
    removed;
    only
    .Cm show --env
    prints it.
    .Pp
    The output of a job appears when the job writes it.
    Many programs buffer their output unless it goes to a terminal;
    then
    .Cm log -f
    shows it late.
    .Pp
    Logs are kept until
    .Cm clean
    or
    .Cm set keep
    deletes them.
    .Pp
    The times of day, the age for
    .Cm clean --older-than ,
    and the order in which
    .Cm clean --keep
    and
    .Cm set keep
    select the last jobs depend on the system clock, and change when it is set.
    Durations, timeouts and delays do not.
    .Pp
    .Nm
    has not been tested on macOS.

    """#
}

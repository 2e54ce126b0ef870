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
    the event,
    .Va next
    the next free id;
    .Va more
    says how many lines of the same batch follow, and
    .Va paused
    that the queue is paused.
    .Va sum
    is the CRC-32 of everything before it and its comma, in eight hexadecimal
    digits.
    The state of a queue is what replaying its lines gives.
    The format holds these promises:
    .Bl -bullet
    .It
    Any prefix of a journal is a queue.
    The end of a line or of a batch that is missing is left out, and cut off
    before the next is appended.
    .It
    A damaged line costs only itself:
    it is reported, left out, and put aside in
    .Pa damaged
    when the journal is next written anew.
    .It
    A line of a newer version is refused with a message, and nothing is changed.
    .It
    .Cm add
    returns when its line is on the disk (fdatasync(2)), and so does every command
    that changes a queue.
    It does not read the journal, but for its last line, unless
    .Fl -unique
    is given.
    .It
    The start of a job is on the disk before there is a process.
    .It
    The end of a job is on the disk before the next job starts, before the command
    that follows it is run, and before
    .Cm wait
    tells of it.
    .It
    A journal that is mostly history is written anew, flushed, and put into the
    place of the old one.
    .El
    .Ss Locks
    All locks are those of flock(2), which the kernel takes back when a process
    ends, however it ends;
    there is no file with the number of a process to go stale.
    A runner holds
    .Pa runner.lock .
    A job inherits a descriptor that holds its own lock, so that it is known to be
    alive when its runner is not:
    the next runner waits for it, and
    .Cm status
    says which job that is and how to end it.
    A process that a job left behind and that lives on after the job ended
    normally does not hold up the queue; nor does one that has left the process
    group of a job whose runner died.
    .Pp
    An
    .Cm add
    that finds a runner alive, and a runner that finds nothing to do, decide under
    the lock of the journal, so that no job is left without a runner.
    Nobody polls:
    a runner sleeps until its job ends, the journal grows or a time has come.
    .Ss Stopping
    A job that is cancelled or takes too long is sent a signal with its whole
    process group, and SIGKILL 10 seconds later.
    The first SIGINT, SIGTERM or SIGHUP ends the job of
    .Cm run
    in that way and starts no other;
    the second kills it.
    A job that is ended with a runner in the background, as when the machine goes
    down, is interrupted and not cancelled:
    nobody meant the job.

    """#

  static let assumptions = #"""
    .Sh ASSUMPTIONS
    The folder of the queues is on a local file system that keeps what
    fdatasync(2) and rename(2) promise, and on which flock(2) works between
    processes.
    All users of a queue are one user on one machine.
    On Linux
    .Pa /proc
    is mounted.
    .Pp
    A job that changes its process group or session, as a daemon does, has left:
    it is not ended with the job, and not waited for once the job has ended.
    A job that closes all descriptors that it does not know gives up its lock;
    should its runner then be killed, the next job could start while it still
    runs.

    """#

  static let caveats = #"""
    .Sh CAVEATS
    One command at a time is all there is:
    no parallel jobs, no dependencies but
    .Fl -if-ok ,
    no dates, no other machines.
    .Pp
    A job's command, directory and log can be read by its user only, but what is
    in its arguments can be seen by all with ps(1) while it runs.
    Its environment, secrets included, is stored with the queue until the job is
    cleaned away;
    .Cm show --env
    prints it, and nothing else does.
    .Pp
    Output of a job appears when the job writes it.
    Many programs collect what they write unless it goes to a terminal;
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
    The times of day that are shown, the age that
    .Cm clean --older-than
    looks at, and which jobs
    .Cm clean --keep
    and
    .Cm set keep
    take for the last, are those of the machine's clock: who sets it changes them.
    How long a job ran, time limits and delays do not go by it.
    .Pp
    On macOS it has never been tried.

    """#
}

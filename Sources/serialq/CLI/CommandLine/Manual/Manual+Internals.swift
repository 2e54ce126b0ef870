import SerialqSystem

extension Manual {
  static let internals = #"""
    .Sh INTERNALS
    .Ss The journal
    A line is a JSON object, for example, in one line:
    .Bd -literal -offset indent
    {"v":1,"e":"started","id":3,"at":"2026-01-31T12:00:00.123456Z",
    "attempt":1,"boot":"...","uptime":5123456789,"next":18,"sum":"9ae0daaf"}
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
    is the CRC-32 of everything before the comma in front of it, in eight
    hexadecimal digits.
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
    .Cm add , pause
    and
    .Cm set ,
    which read only the last line, refuse only that one:
    they append behind an older line, whatever precedes it.
    .It
    .Cm add ,
    like every command that changes a queue, returns when its line is on disk
    (fdatasync(2)).
    It reads only the last line of the journal, unless
    .Fl -unique
    or
    .Fl -after
    is given.
    .It
    The start of a job is on disk before its process exists.
    .It
    The end of a job is on disk before the next job starts, before the on-finish
    command runs, and before
    .Cm wait
    reports it.
    .It
    The start of the on-idle command is on disk before its process exists.
    .It
    A copy of standard input is on disk before the line of its job is written.
    .It
    When a runner starts a job, a journal of more than 1,000 lines, of which more
    than half are outdated, is rewritten to a new file, which is flushed and
    replaces the old one.
    .Cm clean
    does the same with any journal.
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
    does not block the queue.
    The same applies to a job whose runner died:
    the next runner waits for the processes in the process group of the job that
    hold its lock, not for those that have left it.
    .Pp
    An
    .Cm add
    that finds an active runner, and a runner that finds no work, decide under the
    lock of the journal, so that no job is left without a runner.
    Nothing polls:
    a runner sleeps until its job ends, the journal grows or a deadline is reached,
    and
    .Cm wait
    until a journal grows or the process of a runner ends.
    There are two exceptions.
    While processes of a job are being killed or suspended, the runner searches for
    new ones, at intervals that grow to a second.
    If the user has no inotify(7) instance left, changes are looked for ten times a
    second.
    .Ss Keepers
    A running job with a terminal has a keeper:
    a process of
    .Nm
    that holds the other end of the pseudo-terminal, copies what the job prints to
    its log and to the attached terminals, and what is typed there to the job.
    There is none for a job that waits, or has no terminal.
    The runner starts it before the job, and remains the parent of the job.
    The keeper holds
    .Pa locks/ID.keeper
    and not the lock of the job, so that ending or suspending the job does not end
    or suspend the copy of its output.
    If the runner dies, the job, its terminal and its log continue.
    If the keeper dies, the terminal is closed:
    the job receives SIGHUP, as on any terminal that is closed, and its log says so.
    .Pp
    When the job ends, the runner signals the keeper, which reads what is left in
    the terminal and ends;
    only then is the end of the job recorded.
    A keeper whose runner died ends when the lock of the job is free.
    .Pp
    The keeper listens at
    .Pa locks/ID.socket ,
    which has mode 0600;
    both sides check that the other process is one of the same user.
    An attached terminal that does not read its output misses a part of it, and
    holds up neither the job nor the log.
    If the log cannot be written, for example on a full disk, the keeper reads on:
    the job continues, and
    .Cm status
    and
    .Cm show
    report what is missing.
    .Pp
    A question is an observation of the terminal and of the processes in its
    foreground, and recorded in the journal.
    A password is asked for if the terminal echoes nothing, a line at a time.
    The job seems to wait for input if the last line has no end, nothing was printed
    or typed for two seconds, and no process in the foreground is known to do
    something else than read.
    .Ss Stopping
    To cancel a job, or end it at its timeout,
    .Nm
    sends a signal to its process group and to every other process that holds the
    inherited lock of the job, whatever group or session it has moved to.
    SIGCONT follows, so that a stopped process receives the signal.
    SIGKILL follows 10 seconds later, and goes also to processes that were started
    meanwhile, until none holds the lock.
    A process that is started because of the first signal, for example by a trap,
    has these 10 seconds to clean up.
    The next job starts when all of them have ended, however long they take.
    A process that cannot be signaled, for example one of another user, is left;
    .Cm status ,
    .Cm show
    and the log of the job name the process and the reason.
    A process that opened the lock file itself does not hold the lock, and receives
    no signal.
    The processes are found in
    .Pa /proc ;
    on macOS, which has none, only the process group is signaled, and the queue
    continues at most 5 seconds after SIGKILL.
    .Pp
    To suspend a job, SIGSTOP goes to the same processes and to those that are
    started meanwhile, until two searches find only processes that do not run.
    .Pp
    The first SIGINT, SIGTERM or SIGHUP to
    .Cm run
    ends its job in this way and starts no other;
    the second kills the job.
    After SIGINT, which is Ctrl-C, the job is cancelled.
    After the others, which a closed terminal and a shutdown send, it is
    interrupted:
    the runner was stopped, not the job.
    A job of a background runner that is stopped is always interrupted.
    If
    .Cm run
    only follows another runner, its end does not affect the job, and
    .Cm run
    says so, as
    .Cm log -f
    and
    .Cm wait
    do after SIGINT.

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
    not waited for once the job has ended by itself.
    It is ended with a job that is cancelled or exceeds its timeout, unless it has
    closed the descriptor of the job's lock.
    A job that closes all unknown descriptors releases its lock;
    if its runner is then killed, the next job could start while it still runs.

    """#

  static let caveats = #"""
    .Sh CAVEATS
    .Nm
    runs one command at a time:
    it has no parallel jobs and no scheduling by date.
    .Pp
    A job's command, directory and log are readable only by its user, but its
    arguments are visible to all users in ps(1) while it runs.
    Its environment, including secrets, is stored with the queue until the job is
    removed;
    only
    .Cm show --env
    prints it.
    A copy of standard input made by
    .Fl -input
    is kept as long.
    .Pp
    The commands that
    .Cm list
    prints do not include the directory, the environment and the input of a job.
    They show a command line as
    .Ql sh -c
    where a shell needs it, also if
    .Cm set shell
    names another shell.
    .Pp
    The output of a job appears when the job writes it.
    Many programs buffer their output unless it goes to a terminal;
    then
    .Cm log -f
    shows it late, unless
    .Fl -tty
    gives the job a terminal.
    .Pp
    Logs are kept until
    .Cm clean
    or
    .Cm set keep
    deletes them;
    .Cm set log-limit
    bounds each one when its job is over.
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

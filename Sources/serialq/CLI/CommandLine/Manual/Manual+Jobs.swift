import SerialqRunner
import SerialqSystem

// The syntax of commands and ids, and the life of a job.
extension Manual {
  static let description = #"""
    .Sh DESCRIPTION
    .Nm
    queues commands and runs them strictly one after another:
    in order, one at a time, and each once.
    A queue survives the end of the terminal, of
    .Nm
    itself and of the machine.
    There is no daemon:
    adding a job starts a background runner for the queue unless one is active,
    and the runner exits when no job is waiting.
    .Pp
    Without a command,
    .Nm
    shows the status of the queue:
    failures first, and the next command worth typing.
    .Ss Command forms
    A single argument is a command line for
    .Pa /bin/sh :
    .Dl serialq add 'make && make test'
    .Pp
    Several arguments are a program and its arguments, passed on byte for byte:
    .Dl serialq add ls -l
    .Pp
    After
    .Fl -
    the arguments are always a program and its arguments, even a single one;
    with
    .Fl c Ar LINE
    the command is always a command line.
    The program is searched for in the job's
    .Ev PATH
    when the job starts.
    Options of
    .Nm
    end at the first word of the command; options after it belong to the command.
    .Ss Ids, durations and queues
    Jobs are numbered from 1 in each queue, and no number is used twice.
    Commands that take several ids also take ranges:
    .Li 3-7
    selects all existing jobs from 3 to 7.
    .Pp
    A duration is a number of seconds, or a number followed by
    .Li s , m , h
    or
    .Li d
    for seconds, minutes, hours or days:
    .Li 90 , 90s , 30m , 2h , 7d .
    .Pp
    The name of a queue has up to 64 letters, digits, dots, underscores and hyphens;
    the first character is neither a dot nor a hyphen.
    A queue is created when something is first added to it.

    """#

  static let jobs = #"""
    .Sh JOBS
    .Ss Execution environment
    A job runs in the directory, with the environment and with the umask of the
    call that added it.
    Its standard input is
    .Pa /dev/null ;
    its standard output and standard error both go to its log, in the order in
    which they are written.
    The output does not pass through the runner:
    the log keeps growing if the runner dies.
    A job leads its own process group and session, which has no terminal:
    programs that prompt for a password on the terminal, such as sudo and ssh, fail
    and say that there is none.
    All signals have their default action, and no other descriptor is open except
    the one that holds the job's lock.
    The environment contains
    .Ev SERIALQ_JOB ,
    the id of the job, and
    .Ev SERIALQ_QUEUE ,
    the name of its queue, so that
    .Nm
    called by a job uses the queue of that job.
    .Pp
    Nothing in that queue starts or ends before the job has ended, so a job cannot
    wait for its own queue:
    .Cm run ,
    and
    .Cm wait
    and
    .Cm log -f
    for jobs that have not ended, exit with 125 immediately when called by a process
    in the job's process group.
    .Ss States
    .Bl -tag -width interrupted
    .It Li waiting
    The job has not run, or will run again.
    It becomes running, cancelled or skipped.
    .It Li running
    The job becomes one of the following.
    None of these changes by itself, except for automatic retries.
    .It Li succeeded
    The job exited with 0.
    .It Li failed
    The job exited with another code, or could not be started.
    .It Li killed
    The job was ended by a signal that
    .Nm
    did not send.
    .It Li timed-out
    The job ran longer than its
    .Fl -timeout ,
    and was ended.
    .It Li interrupted
    The runner or the machine died while the job ran, so its outcome is not known.
    It is never shown as done, and never run again except by
    .Fl -retries
    or
    .Cm retry .
    .It Li cancelled
    The job was cancelled before or while it ran.
    .It Li skipped
    The job was added with
    .Fl -if-ok ,
    and the job before it did not succeed.
    .El
    .Ss Failures
    Jobs that failed, were killed, timed out or were interrupted are failures;
    cancelled and skipped jobs are not.
    A failure is
    .Em open
    until its job is acknowledged with
    .Cm ack ,
    queued again with
    .Cm retry ,
    or removed with
    .Cm clean .
    The status shows open failures first, and
    .Cm wait
    without ids does not succeed while there is one:
    neither misses a job that failed before the call.
    .Ss Order
    Jobs run in the order in which they were added, except for
    .Fl -first
    and
    .Cm move .
    The first waiting job blocks the others:
    while it waits for its next attempt, no other job overtakes it.
    Automatic retries
    .Pq Fl -retries
    run before all other jobs.
    .Pp
    .Fl -if-ok
    depends on position:
    it checks the job whose turn came last before the job's own, not the job that
    was added before it.
    If that job did not succeed, or was skipped, this one is skipped.
    The check does not apply to automatic retries or to jobs that
    .Cm retry
    queues again, except to a skipped job that is queued again together with others
    before it.
    .Ss Waiting
    .Cm wait
    with one id exits as that job did.
    With several ids, it exits with 1 if any job did not succeed.
    Without ids it applies to the whole queue:
    0 means that everything in it is done and no failure is open.
    It returns as soon as the jobs are done, and starts a runner if none is active.
    If the queue is paused and a job that it waits for has not run, it fails with
    125, or with 1 if a failure paused the queue:
    immediately, or, if the queue is paused during the wait, when the running job
    has ended.
    Everything that it reports is on disk.
    .Ss The on-finish command
    .Cm set on-finish
    sets a command line that the runner runs after the end of each job that it
    observed, before the next job;
    not between the attempts of
    .Fl Fl retries .
    The command has the directory, the environment and the umask of the call that
    set it, and these variables:
    .Bl -tag -width SERIALQ_SECONDS
    .It Ev SERIALQ_JOB
    The id of the job.
    .It Ev SERIALQ_QUEUE
    The name of its queue.
    .It Ev SERIALQ_STATE
    Its state.
    .It Ev SERIALQ_EXIT
    Its exit code;
    empty if it has none.
    .It Ev SERIALQ_SIGNAL
    The signal that ended it, such as
    .Li SIGKILL ;
    empty if none did.
    .It Ev SERIALQ_ATTEMPT
    The number of the attempt, from 1.
    .It Ev SERIALQ_SECONDS
    The duration of the attempt, in whole seconds.
    .It Ev SERIALQ_LABEL
    Its label;
    empty if it has none.
    .It Ev SERIALQ_COMMAND
    Its command, quoted as in the output of
    .Cm list .
    .It Ev SERIALQ_LOG
    The path of its log.
    .El
    .Pp
    The command receives SIGTERM after 60 seconds, and SIGKILL 10 seconds later.
    Its output is in
    .Pa hook.log
    until it runs again.
    If the command fails, the queue is not affected:
    .Cm show
    reports the failure, and so does
    .Cm status
    if that run was the latest.

    """#
}

import SerialqRunner
import SerialqSystem

// The syntax of commands and ids, and the life of a job.
extension Manual {
  static let description = #"""
    .Sh DESCRIPTION
    .Nm
    keeps queues of commands and runs them strictly one after another:
    in order, one at a time, and each once.
    A queue survives the end of the terminal, of
    .Nm
    itself and of the machine.
    There is no daemon:
    whoever adds a job makes sure that a runner is at work on the queue, in the
    background, and the runner leaves when nothing waits.
    .Pp
    Without a command,
    .Nm
    shows what is going on:
    failures first, and the next command worth typing.
    .Ss How commands are given
    One argument is a command line for
    .Pa /bin/sh :
    .Dl serialq add 'make && make test'
    .Pp
    Several are a program and its arguments, which are passed on byte for byte:
    .Dl serialq add ls -l
    .Pp
    After
    .Fl -
    it is always a program and its arguments, even if it is one word;
    with
    .Fl c Ar LINE
    it is always a command line.
    The program is looked for along the PATH that the job has, when it starts.
    Options of
    .Nm
    stop at the first word of the command, so that those which follow are the
    command's.
    .Ss Ids, durations and queues
    Jobs are numbered from 1 on in each queue, and no number is used twice.
    Commands that take several ids take ranges too:
    .Li 3-7
    stands for all jobs from 3 to 7 that there are.
    .Pp
    A duration is a number of seconds, or a number with
    .Li s , m , h
    or
    .Li d
    for seconds, minutes, hours or days:
    .Li 90 , 90s , 30m , 2h , 7d .
    .Pp
    A queue is named by up to 64 letters, digits, dots, underscores and hyphens,
    of which the first is neither a dot nor a hyphen.
    It is made when something is put into it.

    """#

  static let jobs = #"""
    .Sh JOBS
    .Ss What a job finds
    A job runs in the directory, with the environment and with the umask of the
    call that added it.
    Its standard input is
    .Pa /dev/null ;
    its standard output and standard error both go into its log, in the order in
    which they are written, and not through the runner:
    the log goes on when the runner dies.
    It leads a process group and a session of its own, which has no terminal:
    what asks there for a password, as sudo and ssh do, says that there is none and
    fails.
    It has every signal at its default, and no other descriptor but one that holds
    its lock.
    Its environment holds
    .Ev SERIALQ_JOB ,
    its id, and
    .Ev SERIALQ_QUEUE ,
    the name of its queue, so that
    .Nm
    called by a job means the queue that the job is in.
    .Pp
    Nothing in that queue begins or ends before the job has ended, so the job cannot
    wait for it:
    .Cm run ,
    and
    .Cm wait
    and
    .Cm log -f
    for what is not over yet, exit with 125 at once when a process of the job's
    group calls them.
    .Ss States
    .Bl -tag -width interrupted
    .It Li waiting
    It has not run, or is to run again.
    It becomes running, cancelled or skipped.
    .It Li running
    It becomes one of the following;
    none of these changes by itself, but for automatic retries.
    .It Li succeeded
    It exited with 0.
    .It Li failed
    It exited with another code, or could not be started.
    .It Li killed
    It was ended by a signal that
    .Nm
    did not send.
    .It Li timed-out
    It took longer than
    .Fl -timeout
    allows, and was ended.
    .It Li interrupted
    Its runner or the machine died while it ran, so that nobody knows how it
    ended.
    It is never shown as done, and never run again unless
    .Fl -retries
    or a person says so.
    .It Li cancelled
    It was told not to run, or to stop.
    .It Li skipped
    It was added with
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
    or forgotten with
    .Cm clean .
    The overview leads with the open failures, and
    .Cm wait
    without ids does not succeed as long as there is one:
    so neither can miss a job that failed before it was called.
    .Ss Order
    Jobs run in the order in which they were added, but for
    .Fl -first
    and
    .Cm move .
    The first job that waits decides alone:
    while it waits for the time of its next attempt, none overtakes it.
    Automatic retries
    .Pq Fl -retries
    run before all other jobs.
    .Pp
    .Fl -if-ok
    goes by position:
    it asks about the job whose turn was last when the job's own turn has come,
    not about the one that was added before it.
    If that one did not succeed, or was skipped, the job is skipped.
    A job that is tried again by itself, or that
    .Cm retry
    queues again, is not asked this, except one that was skipped and is queued
    again together with others before it.
    .Ss Waiting
    .Cm wait
    with one id exits as that job did.
    With several, it exits with 1 if any did not succeed.
    Without ids it speaks of the whole queue:
    0 means that everything in it is done and no failure is open.
    It returns as soon as it happens, and starts a runner if none is at work.
    If the queue is paused and what it waits for has yet to run, it fails with 125,
    or with 1 if a failure has paused the queue:
    at once, or, if the queue is paused while it waits, when the running job has
    ended.
    What it has told is on the disk.
    .Ss The command that follows each job
    .Cm set on-finish
    names a command line that the runner runs whenever a job has ended that it
    saw running, before the next job;
    not between the attempts of
    .Fl Fl retries .
    It has the directory, the environment and the umask of the call that set it,
    and:
    .Bl -tag -width SERIALQ_SECONDS
    .It Ev SERIALQ_JOB
    The id of the job.
    .It Ev SERIALQ_QUEUE
    Its queue.
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
    The number of the attempt, from 1 on.
    .It Ev SERIALQ_SECONDS
    How long it took, in whole seconds.
    .It Ev SERIALQ_LABEL
    Its label, or nothing.
    .It Ev SERIALQ_COMMAND
    Its command, quoted as
    .Cm list
    shows it.
    .It Ev SERIALQ_LOG
    The path of its log.
    .El
    .Pp
    After 60 seconds it is sent SIGTERM, and SIGKILL 10 seconds later.
    Its output is in
    .Pa hook.log
    until it is run again.
    Should it not succeed, that changes nothing:
    .Cm show
    tells it, and
    .Cm status
    if it was the latest.

    """#
}

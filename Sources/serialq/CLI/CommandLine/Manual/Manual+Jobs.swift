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
    failed and skipped jobs first, and the next command worth typing.
    .Ss Command forms
    A single argument is a command line for
    .Pa /bin/sh ,
    or for the shell that
    .Cm set shell
    names when the job starts:
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
    .Ss Ids, labels, durations and queues
    Jobs are numbered from 1 in each queue, and no number is used twice until the
    queue is removed.
    Wherever a command takes an
    .Ar ID ,
    it also takes a label, which selects the latest job that has it.
    A word that can be an id is one, even if a job has it as its label.
    Commands that take several ids also take ranges and lists:
    .Li 3-7
    selects all existing jobs from 3 to 7, and
    .Li 1,4-6
    selects job 1 and those from 4 to 6.
    Such a list has no labels, except for
    .Fl -after :
    .Li 1-3,build .
    .Pp
    A duration is a number of seconds, or numbers followed by
    .Li d , h , m
    or
    .Li s
    for days, hours, minutes or seconds, in this order:
    .Li 90 , 30m , 1h30m , 7d .
    The last number may have a fraction, as in
    .Li 1.5h ;
    it is rounded up to a full second.
    .Pp
    Times are shown in the time zone of the caller, see
    .Ev TZ ;
    in JSON they are in UTC.
    Messages and columns cut long labels and commands;
    a cut text ends in an ellipsis.
    .Pp
    The name of a queue has up to 64 ASCII letters, digits, dots, underscores and
    hyphens;
    the first character is neither a dot nor a hyphen.
    A queue is created when a job is first added to it, or when it is paused or
    configured before that.
    No other command creates one.
    If other queues have jobs, a command for one without jobs says which, except
    .Cm status
    with
    .Fl w
    or
    .Fl -json .
    .Cm wait
    for a queue that does not exist exits with 125, because its name may be
    mistyped, but with 0 for the default queue.
    .Cm queues --remove
    removes a queue without jobs.

    """#

  static let jobs = #"""
    .Sh JOBS
    .Ss Execution environment
    A job runs in the directory, with the environment and with the umask of the
    call that added it.
    Its standard input is
    .Pa /dev/null ,
    or the file or the copy that
    .Fl -input
    names, which every attempt reads from the start;
    its standard output and standard error both go to its log, in the order in
    which they are written.
    The output does not pass through the runner:
    the log keeps growing if the runner dies.
    A job leads its own process group and session, which has no terminal unless
    .Fl -tty
    or
    .Cm set tty
    gives it one, see
    .Sx TERMINALS :
    without it, programs that prompt for a password on the terminal, such as sudo
    and ssh, fail.
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
    Priority, resource limits and processor affinity are not those of the call that
    added the job, but of the call that started the runner, which may be an earlier
    one; the runner resets the priority to the normal one if it is allowed to.
    Set them in the command:
    .Dl serialq add nice -n 10 make
    .Dl serialq add 'ulimit -t 600; exec make'
    .Dl serialq add taskset -c 0 make
    .Pp
    No other job of the queue runs before the job has ended, so a job cannot wait
    for its own queue:
    .Cm run ,
    and
    .Cm wait
    and
    .Cm log -f
    for jobs that have not ended, exit with 125 immediately when called by a process
    of the job.
    .Ss States
    .Bl -tag -width interrupted
    .It Li waiting
    The job has not run, or will run again.
    It becomes running, cancelled or skipped.
    .It Li running
    The job becomes one of the following.
    A running job that
    .Cm pause --now
    suspended is shown as suspended.
    The states below change only by an automatic retry or a command.
    .Cm list
    shows a job that waits for such a retry as retrying.
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
    The runner or the machine died while the job ran, or the runner was stopped by
    a signal other than Ctrl-C, so its outcome is not known.
    The next runner records it; until then
    .Cm list
    shows the job as running, and
    .Cm status
    says that it died.
    It is never shown as done, and never run again except by
    .Fl -retries
    or
    .Cm retry .
    .It Li cancelled
    The job was cancelled before or while it ran.
    .It Li skipped
    The job has the condition
    .Fl -after
    or
    .Fl -if-ok ,
    and a job that it requires did not succeed.
    .El
    .Ss Failures
    Jobs that failed, were killed, timed out or were interrupted are failures;
    cancelled and skipped jobs are not.
    A job that failed or was skipped is
    .Em open
    until it is acknowledged with
    .Cm ack ,
    queued again with
    .Cm retry ,
    or removed with
    .Cm clean .
    The status shows open jobs first, and
    .Cm wait
    without ids does not succeed while there is one:
    neither misses a job that failed before the call, or work that was not done
    because of it.
    .Ss Order
    Jobs run in the order in which they were added, except for
    .Fl -first
    and
    .Cm move .
    The first waiting job blocks the others:
    while it waits for its next attempt, no other job overtakes it,
    unless
    .Fl -first
    or
    .Cm move
    puts one before it.
    Automatic retries
    .Pq Fl -retries
    run before the jobs that wait.
    .Ss Conditions
    .Fl -after
    names jobs of the same queue that were added before.
    When the turn of the job comes, it runs if all of them succeeded, and is skipped
    otherwise.
    A skipped job did not succeed, so that the jobs after it are skipped too.
    The result of a job counts even if the job is removed before.
    .Pp
    The job stays behind those of them that wait:
    .Fl -first
    puts it directly behind them,
    .Cm move
    refuses to put it before one of them, and
    .Cm retry
    or
    .Cm edit
    of one of them moves it behind that one, unless it waits for an automatic
    retry, which keeps its place.
    So the order of
    .Cm list
    is the order of running, and no two jobs wait for each other.
    .Pp
    .Fl -if-ok
    depends on position:
    it checks the job whose turn came last before the job's own, not the job that
    was added before it.
    If that job did not succeed, or was skipped, this one is skipped.
    Without such a job, in a new queue, it runs.
    .Cm cancel
    of a waiting job skips the jobs with
    .Fl -if-ok
    that directly follow it.
    .Pp
    Conditions do not apply to automatic retries, nor to jobs that
    .Cm retry
    queues again, but with two exceptions for the latter:
    .Fl -if-ok
    of a skipped job that is queued again together with others before it, and
    .Fl -after
    of a job if one of the named ones waits, runs, or is queued again with it.
    Conditions that
    .Cm edit
    sets always apply.
    .Ss Waiting
    .Cm wait
    with one id exits as that job did.
    With several ids, with a list or with a range, it exits with 1 if any job did
    not succeed.
    It is enough that one job of a range exists;
    .Li 3-3
    means one job.
    Without ids it applies to the whole queue:
    0 means that everything in it is done and no job is open.
    It returns as soon as the jobs are done, and starts a runner if none is active.
    If the queue is paused and a job that it waits for has not run, it fails with
    125, or with 1 if a failure paused the queue:
    immediately, or, if the queue is paused during the wait, when the running job
    has ended.
    If the running job is suspended, it fails with 125 at once, as
    .Cm log -f
    does: both would wait for
    .Cm resume .
    If the queue is removed during the wait, it fails with 125.
    Everything that it reports is on disk.
    .Pp
    With
    .Fl -all
    it does the same for every queue until no queue has work, including those that
    are created during the wait.
    It reports at once a queue that is paused or cannot be read, waits for the
    others, and exits with 125, or with 1 if failures paused all such queues, unless
    they were resumed and are done by then.
    .Ss Suspended jobs
    .Cm pause --now
    pauses the queue and stops the running job with SIGSTOP: all processes in its
    process group and all that hold its lock, see
    .Sx Locks ,
    also those that it starts meanwhile.
    .Cm resume
    continues them with SIGCONT.
    If a process cannot be stopped, for example one of another user,
    .Cm status ,
    .Cm show
    and the log of the job name it and the reason, and it runs on.
    .Pp
    The job keeps its place:
    no other starts before it has ended.
    Its time limit and its duration do not include the time for which it was
    suspended.
    Both commands return when the request is on disk; the runner, or the next one if
    it dies, carries it out.
    .Cm cancel
    ends a suspended job as any other.
    So does a signal that stops the runner.
    A job that is being ended is not suspended, and neither are the on-finish and
    the on-idle command.
    .Ss The on-finish command
    .Cm set on-finish
    sets a command line that the runner runs after the end of each job that it
    observed, before the next job;
    not between the attempts of
    .Fl -retries ,
    and not for a job that was skipped, or cancelled before it ran.
    .Cm wait
    does not wait for it.
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
    The duration of the attempt, rounded down to whole seconds;
    empty if it is not known.
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
    .Ss The on-idle command
    .Cm set on-idle
    sets a command line that the runner runs when the queue is idle:
    no job runs or waits, and at least one ran since the command was set or last
    started.
    Setting another command in its place does not start the counts again.
    A paused queue in which jobs wait is not idle.
    The command has the context and the time limits of the on-finish command, which
    runs before it, its output is in
    .Pa idle.log ,
    and
    .Cm status
    reports its failure until it runs again.
    It has these variables:
    .Bl -tag -width SERIALQ_SUCCEEDED
    .It Ev SERIALQ_QUEUE
    The name of the queue.
    .It Ev SERIALQ_SUCCEEDED
    The number of jobs that succeeded since then.
    .It Ev SERIALQ_FAILED
    The number that failed, were killed, timed out or were interrupted.
    .It Ev SERIALQ_SKIPPED
    The number that were skipped.
    .It Ev SERIALQ_CANCELLED
    The number that were cancelled.
    .It Ev SERIALQ_OPEN
    The number of open jobs in the queue, of any time.
    .El
    .Pp
    .Ev SERIALQ_JOB
    is empty.
    An attempt that
    .Fl Fl retries
    repeats is not counted;
    a job that
    .Cm retry
    queues again is counted again.
    .Pp
    The command may add jobs to the queue:
    the same runner runs them, and then the command again.
    It must not wait for them, as
    .Cm run
    does:
    the runner waits for the command, which is ended at its time limit.
    .Pp
    .Cm run
    ends after the command;
    .Cm wait
    does not wait for it.
    The start of the command is recorded, so that it never runs twice for the same
    jobs:
    if the runner is killed or stopped before that, the next runner runs it, and
    .Cm start
    starts one;
    if the runner is killed while the command runs, it is not run again.
    .Ss The on-ask command
    .Cm set on-ask
    sets a command line that runs each time a job asks something on its terminal
    while no other terminal is attached, see
    .Sx TERMINALS .
    It has the context of the on-finish command, and these variables:
    .Bl -tag -width SERIALQ_QUESTION
    .It Ev SERIALQ_JOB
    The id of the job.
    .It Ev SERIALQ_QUEUE
    The name of its queue.
    .It Ev SERIALQ_LABEL
    Its label;
    empty if it has none.
    .It Ev SERIALQ_COMMAND
    Its command, quoted as in the output of
    .Cm list .
    .It Ev SERIALQ_ASKS
    .Li password
    if the terminal hides what is typed;
    .Li input
    if the job seems to wait for input.
    .It Ev SERIALQ_QUESTION
    The last line on the terminal, as text of at most 200 bytes.
    .El
    .Pp
    The job runs on meanwhile.
    The command receives SIGKILL after 60 seconds, and its output is in
    .Pa ask.log
    until it runs again.
    .Ss Notifications
    These commands can send a message, for example by mail:
    .Bd -literal -offset indent
    serialq set on-idle 'echo "$SERIALQ_FAILED of the jobs failed" |
      mail -s "queue $SERIALQ_QUEUE is done" "$USER"'
    .Ed
    .Pp
    or on the desktop, for jobs that did not succeed:
    .Bd -literal -offset indent
    serialq set on-finish 'test "$SERIALQ_STATE" = succeeded ||
      notify-send "Job $SERIALQ_JOB $SERIALQ_STATE" "$SERIALQ_COMMAND"'
    .Ed
    .Pp
    notify-send finds the desktop by variables such as
    .Ev DBUS_SESSION_BUS_ADDRESS ,
    which the command has from the call that set it.
    .Ss Long logs
    .Cm set log-limit
    drops the middle of the log of a job when it ends, if the log is longer than the
    limit.
    About half of the limit remains at the start, half at the end, and between them
    a line such as
    .Dl serialq: 73400320 bytes dropped here (log-limit 10M)
    .Pp
    Lines stay whole, unless one next to the dropped part is longer than a quarter
    of the limit.
    While the job runs, and between the attempts of
    .Fl Fl retries ,
    its log grows without a limit:
    the limit does not bound the disk space that a running job takes.
    A command that follows the job from its start prints all of its output.
    The log is not cut at all if a process that the job left behind can still write
    to it at that time.

    """#
}

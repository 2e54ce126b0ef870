import SerialqSystem

extension Manual {
  /// The tests compare it with the actual output.
  static let json = #"""
    .Sh JSON
    With
    .Fl -json ,
    .Cm add , list , status
    and
    .Cm queues
    print one value and a newline,
    .Cm show
    one for each job.
    .Va version
    is 1;
    it increases when a member changes its meaning or is removed.
    Members may be added at any time.
    .Bl -tag -width Ds
    .It Cm list
    An object:
    .Va version ,
    .Va queue
    .Pq the name of the queue ,
    .Va paused
    .Pq true or false ,
    and
    .Va jobs ,
    an array of jobs:
    those that are not waiting by id, then the waiting ones in the order in which
    they will run.
    With
    .Fl -all ,
    an array with such an object for each queue, with a further member
    .Va error
    .Pq why the queue cannot be read, or null ;
    if it cannot be read,
    .Va paused
    and
    .Va jobs
    are missing.
    .It Cm show
    A job, as described below, without
    .Va version .
    .It Cm status
    An object:
    .Va version ,
    .Va queue ,
    .Va paused ,
    .Va runner
    .Pq whether one is active ,
    .Va damaged
    .Pq the file with the damaged lines that were removed from the journal, or null ,
    .Va openFailures
    .Pq the number of open jobs ,
    .Va onIdleFailure
    .Pq as Va onFinishFailure No of a job, for the on-idle command ,
    .Va counts
    .Pq an object with the number of jobs in each state ,
    and
    .Va running ,
    the running job, or null.
    With
    .Fl -all ,
    an array with such an object for each queue, and
    .Va error
    as for
    .Cm list .
    .It Cm queues
    An array with an object for each queue:
    .Va version ,
    .Va queue ,
    .Va error
    .Pq why the queue cannot be read, or null ,
    and, if it can be read,
    .Va paused ,
    .Va runner
    .Pq whether one is active ,
    .Va openFailures
    and
    .Va counts .
    .It Cm add
    An object:
    .Va version ,
    .Va queue
    and
    .Va ids ,
    an array of numbers, ascending.
    .El
    .Pp
    A job is an object that always has all of these members:
    .Bl -tag -width directory
    .It Va id
    Its id, a number.
    .It Va state
    One of the states listed under
    .Sx JOBS .
    .It Va command
    The program and its arguments as an array of strings;
    null for a command line.
    .It Va shell
    The command line;
    null for a program and its arguments.
    .It Va label
    Its label, or null.
    .It Va directory
    The directory in which it runs.
    .It Va input
    The path of the file that it reads from standard input, or null.
    .It Va exitCode
    Its exit code, or the reason why it could not be started
    .Pq 125, 126 or 127 ;
    else null.
    .It Va signal
    The name of the signal that ended it, such as
    .Qq SIGTERM ;
    else null.
    .It Va attempt
    The number of this attempt, from 1;
    while the job waits for another attempt, the number of attempts so far;
    0 if it was cancelled or skipped before it ever ran;
    null if it has not run yet.
    .It Va added
    When it was added.
    .It Va started
    When this attempt started, or null.
    .It Va ended
    When it ended, was cancelled or skipped, or was found to be interrupted;
    else null.
    .It Va duration
    The duration in seconds, by a monotonic clock and without suspensions;
    null if it has not ended, or if the duration is not known.
    .It Va timeout
    Its time limit in seconds, or null.
    .It Va retries
    The number of its automatic retries.
    .It Va retryDelay
    The seconds before each of them.
    .It Va ifOk
    Whether it was added with
    .Fl -if-ok .
    .It Va after
    The jobs that
    .Fl -after
    names, an array of numbers, without those that succeeded and were removed.
    .It Va skippedBecause
    The job because of which it was skipped, or null.
    .It Va suspended
    When
    .Cm pause --now
    suspended it, if it is; else null.
    Its state is
    .Qq running .
    .It Va tty
    Whether the last attempt had a terminal of its own;
    before the first, whether the job has
    .Fl -tty .
    .It Va asks
    If the running job seems to ask something on its terminal, an object:
    .Va kind ,
    which is
    .Qq password
    if the terminal hides what is typed, or
    .Qq input
    if the job seems to wait for input, and
    .Va text ,
    the last line on its terminal without its escape sequences.
    Else null.
    .It Va unlogged
    Why output of the last attempt is missing in its log, as text;
    null if it is not.
    Only a job with a terminal continues without its log.
    .It Va unreachable
    The processes of the job that could not be ended or suspended, and why, as text;
    null if there was none.
    .It Va launcher
    If a launcher executes or executed the last attempt, an object with its
    .Va command ,
    the engine's name for the job
    .Pq Va job ,
    the machine that executed it
    .Pq Va node ,
    and why its end is unknown
    .Pq Va lost ,
    each null if unknown; else null.
    .It Va log
    The path of its log, which may not exist yet.
    .It Va onFinishFailure
    If the on-finish command failed, an object with its
    .Va exitCode
    and
    .Va signal ,
    one of which is null;
    else null.
    .El
    .Pp
    Times are in the format of RFC 3339, in UTC and with fractions of a second:
    .Qq 2026-01-31T12:00:00.123456Z .
    The output never contains the environment of jobs.
    .Ss Text that is not UTF-8
    Commands, labels and paths are bytes, and JSON is text.
    Valid UTF-8 is written as is.
    Each other byte, between 0x80 and 0xFF, is written as the character whose code
    point is 0xF700 plus the byte:
    U+F780 for 0x80, up to U+F7FF for 0xFF.
    If the bytes themselves contain one of these 128 private use characters, each of
    its three bytes is written in this way.
    The encoding is unambiguous and reversible:
    convert each character from U+F780 to U+F7FF to one byte, and all others to
    UTF-8.
    The journal uses the same encoding.

    """#
}

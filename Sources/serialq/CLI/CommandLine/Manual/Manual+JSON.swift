import SerialqSystem

extension Manual {
  /// The tests compare it with the actual output.
  static let json = #"""
    .Sh JSON
    With
    .Fl -json ,
    .Cm add , list , show , status
    and
    .Cm queues
    print one value and a line end.
    .Va version
    is 1;
    it rises when a member changes its meaning or goes.
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
    those that do not wait by id, then those that do in the order in which they
    will run.
    .It Cm show
    A job, as below, without a
    .Va version
    of its own.
    .It Cm status
    An object:
    .Va version ,
    .Va queue ,
    .Va paused ,
    .Va runner
    .Pq whether one is at work ,
    .Va damaged
    .Pq the file in which damaged lines of the journal are kept, or null ,
    .Va openFailures
    .Pq how many failures nobody has taken note of ,
    .Va counts
    .Pq an object that has the number of jobs for every state ,
    and
    .Va running ,
    the job that runs, or null.
    .It Cm queues
    An array with an object for every queue:
    .Va version ,
    .Va queue ,
    .Va paused ,
    .Va runner
    .Pq whether one is at work ,
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
    A job is an object, and always has all of these members:
    .Bl -tag -width directory
    .It Va id
    Its number.
    .It Va state
    One of the states above.
    .It Va command
    The program and its arguments as an array of strings;
    null for a command line.
    .It Va shell
    The command line;
    null for a program and its arguments.
    .It Va label
    Its label, or null.
    .It Va directory
    Where it runs.
    .It Va exitCode
    With which code it exited, or why it could not be started
    .Pq 125, 126 or 127 ;
    else null.
    .It Va signal
    The name of the signal that ended it, such as
    .Qq SIGTERM ;
    else null.
    .It Va attempt
    Which attempt this is or was, from 1 on;
    while it waits to be tried again, how many there have been;
    0 if it was cancelled or skipped before it ever ran;
    null if it has not run yet.
    .It Va added
    When it was added.
    .It Va started
    When this attempt was started, or null.
    .It Va ended
    When it ended, was cancelled or skipped, or was found to be interrupted;
    else null.
    .It Va duration
    How long it took, in seconds, by a clock that nobody sets;
    null if it has not ended, or if that is not known.
    .It Va log
    The path of its log, which need not be there yet.
    .It Va onFinishFailure
    Null, unless the command that followed it did not succeed: then an object of its
    .Va exitCode
    and its
    .Va signal ,
    of which one is null.
    .El
    .Pp
    Times are as RFC 3339 has them, in UTC and with fractions of a second:
    .Qq 2026-01-31T12:00:00.123456Z .
    The environment of jobs is never part of it.
    .Ss Text that is not UTF-8
    Commands, labels and paths are bytes, and JSON is text.
    What is UTF-8 stands for itself.
    Every other byte, all of which are between 0x80 and 0xFF, is written as the
    character that has 0xF700 and the byte as its number:
    U+F780 for 0x80, up to U+F7FF for 0xFF.
    Should the bytes themselves hold one of these 128 characters of the private
    use area, each of its three bytes is written in that way.
    So no two texts look the same, and every byte comes back:
    turn each character from U+F780 to U+F7FF into one byte, and all others into
    UTF-8.
    The journal is written by the same rule.

    """#
}

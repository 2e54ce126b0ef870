// Jobs that other machines or engines execute, and queues on other machines.
extension Manual {
  static let beyond = #"""
    .Sh BEYOND ONE MACHINE
    A queue can stay here while its jobs run elsewhere: a
    .Em launcher
    hands each job to an engine that exists already, such as Slurm or ssh.
    Or the whole queue is on another machine, and
    .Fl -host
    uses it there.
    .Bd -literal -offset indent
    serialq set -q train launcher 'serialq-slurm --partition gpu'
    serialq set -q box launcher 'serialq-ssh user@box'
    serialq --host user@box add make all
    .Ed
    .Pp
    With a launcher, the order, the journal and the report stay here, and so does
    the rule that no two jobs of a queue run at once.
    With
    .Fl -host ,
    nothing is here.
    .Ss Launchers
    With
    .Cm set launcher ,
    each job that starts from now on is executed by that command, a program with
    options, which the shell reads.
    It is called with the words of the job as its last arguments, and with the
    directory, the umask, the environment, the standard input and the log of the
    job.
    For a command line, the words are the shell,
    .Fl c
    and the line.
    .Pp
    The exit code of the launcher has no meaning: engines report success for jobs
    that they lost.
    The launcher reports the end of the job in a file.
    Without that report the job is interrupted, because its end is unknown.
    .Cm show ,
    the heading of
    .Cm log ,
    the failures of
    .Cm report --html ,
    and the member
    .Va launcher
    in JSON name the launcher, what the engine calls the job, and the machine that
    executed it.
    .Pp
    .Cm cancel ,
    a time limit, and a stop of the runner send SIGTERM to the launcher alone, also
    .Cm cancel --signal KILL .
    The launcher ends its job, for which it has 30 seconds; then SIGKILL ends the
    launcher.
    Other signals of
    .Cm cancel --signal
    are sent as they are.
    .Cm pause --now
    is refused while a launcher executes a job.
    .Pp
    If the runner dies, the next one waits for the launcher and records its report.
    If the launcher dies too, the job is interrupted.
    What it left behind must be found by the next launcher of the queue, which
    waits for it before it starts the next job.
    .Nm serialq-slurm
    and
    .Nm serialq-ssh
    do.
    \#(slurm)\#(ssh).Ss Writing a launcher
    A launcher finds the
    .Ev SERIALQ_QUEUE
    and
    .Ev SERIALQ_JOB
    of every job, and:
    .Bl -tag -width SERIALQ_ATTEMPT
    .It Ev SERIALQ_ATTEMPT
    The attempt, from 1.
    .It Ev SERIALQ_WORDS
    The number of words of the job, at the end of the arguments.
    .It Ev SERIALQ_KEY
    A name for the attempt that no other has, on any machine, as long as the queue
    is not removed:
    .Ar USER/QUEUE/JOB/ATTEMPT .
    .Ar USER
    is 16 random hexadecimal digits, made once for all queues of the user.
    .It Ev SERIALQ_RESULT
    An empty file, to which the launcher appends lines.
    .El
    .Pp
    These lines have a meaning; others are ignored, and so is a line without its
    newline.
    The last result counts.
    .Bl -tag -width "cannot 126|127 REASON"
    .It Li exit Ar CODE
    The job exited.
    .It Li signal Ar NAME
    The job was killed by this signal, such as
    .Li KILL .
    .It Li cannot 126|127 Ar REASON
    The job was not started.
    It failed with that exit code.
    .It Li lost Ar REASON
    The end of the job is unknown, for this reason.
    .It Li job Ar NAME
    What the engine calls the job.
    .It Li node Ar NAME
    Where it runs.
    .El
    .Pp
    On SIGTERM a launcher sends SIGTERM to its job, waits 10 seconds, ends it by
    force, and ends when the job is gone.
    It must not end before: the next job then starts.
    .Pp
    This one runs each job in a container, made by
    .Li bwrap ,
    in which only the directory of the job can be changed, there is no network, and
    .Pa /tmp
    is the container's own.
    Save it as
    .Pa serialq-bwrap
    in a folder of
    .Ev PATH ,
    make it executable, and type
    .Li serialq set launcher serialq-bwrap .
    .Bd -literal -offset indent
    #!/bin/sh
    result() { printf '%s\en' "$*" >>"$SERIALQ_RESULT"; }
    if ! command -v bwrap >/dev/null; then
      result cannot 127 bwrap is not installed
      exit
    fi
    # bwrap writes the process of the container to a file, which needs no name.
    info=$SERIALQ_RESULT.bwrap
    exec 3>"$info" 5<"$info"
    rm "$info"
    # In the background, the standard input would be /dev/null.
    exec 4<&0
    bwrap --ro-bind / / --dev /dev --proc /proc --tmpfs /tmp \e
      --bind "$PWD" "$PWD" --chdir "$PWD" --unshare-net --unshare-ipc \e
      --unshare-pid --new-session --die-with-parent \e
      --info-fd 3 "$@" <&4 4<&- 5<&- &
    container=$!
    exec 3>&- 4<&-
    stop() {
      # To all in the container, as a group: bwrap does not pass signals on.
      job=$(sed -n 's/.*"child-pid": *\e([0-9]*\e).*/\e1/p' <&5)
      kill -- "-$job" || kill "$container"
    }
    trap 'stop; again=1' TERM
    again=1 code=143
    # Repeats a wait that the signal interrupted.
    while [ "$again" ] && [ "$code" = 143 ]; do
      again=
      wait "$container"
      code=$?
    done
    result exit "$code"
    .Ed
    .Pp
    When the job ends, so does everything else in its container.
    A job that ignores SIGTERM is ended after 30 seconds with its launcher, because
    it is a process of this machine.
    A shell does not tell a job that was killed by SIGKILL from one that exited with
    137.
    .Ss What is promised
    .Bl -bullet -compact
    .It
    No job is started twice, unless it is retried.
    .It
    A job counts as succeeded only if the engine saw it exit with 0.
    .It
    The next job starts after the engine says that the one before is over, also
    after a crash of the runner, the launcher, or both.
    .El
    .Pp
    No program can promise more than its engine.
    A machine that is cut off from the network may still run a job that the engine
    has given up.
    Then the next job runs at the same time.
    If that must not be, have the jobs take a lock where they write.
    \#(host)
    """#
}

extension Manual {
  private static let slurm = #"""
    .Ss Slurm
    .Nm serialq-slurm
    runs each job as one task of a Slurm job of its own.
    Its options are those of
    .Li srun .
    .Pp
    The arguments, directory, environment, umask, input and exit status of a job are
    exact; variables of Slurm are added.
    Standard output and standard error are one stream, and there is no terminal.
    The directory must exist on the node.
    Nodes need
    .Li sh .
    Without
    .Li perl
    there, a job that a signal ended counts as one that exited with 128 and the
    number of the signal.
    .Pp
    The next job starts when Slurm has ended the one before.
    If the launcher of a job was killed, the next job waits for the end of that job,
    and its log says so.
    If a node fails, its job is interrupted.

    """#

  private static let ssh = #"""
    .Ss ssh
    .Nm serialq-ssh
    runs each job on another machine, with
    .Li ssh
    and its configuration.
    Its options are those of
    .Li ssh ,
    and two of its own before them:
    .Fl -directory Ar DIR
    runs the jobs there instead of in their own directory, which must exist here,
    and
    .Fl -env Ar NAME
    passes a variable of the job on; it can be given several times.
    Nothing can be asked for: use a key.
    .Pp
    The arguments, umask, input and exit status of a job are exact.
    The environment is that of a login there, with the
    .Ev SERIALQ_QUEUE , SERIALQ_JOB , SERIALQ_ATTEMPT
    and
    .Ev SERIALQ_KEY
    of the job.
    Standard output and standard error are one stream, and there is no terminal.
    The machine needs
    .Li sh ,
    .Li flock ,
    and
    .Li perl
    or
    .Li setsid .
    Output of processes that a job leaves behind is dropped.
    Without
    .Li perl ,
    such a process can delay the next job while it holds the output open.
    .Pp
    If no connection is possible, the job fails with exit code 126.
    If the connection is lost, the job is interrupted, and can continue there.
    The next job of the queue waits for it there, and its log says so.

    """#

  private static let host = #"""
    .Ss Queues on another machine
    .Fl -host Ar HOST
    before the command carries it out on another machine, as if it were typed there
    after a login:
    .Bd -literal -offset indent
    serialq --host user@box add -C src make
    serialq --host user@box log -f
    serialq --host user@box:/opt/bin/serialq list
    .Ed
    .Pp
    .Ar HOST
    is a host as
    .Xr ssh 1
    takes it, also an alias of its configuration, and can be followed by
    .Li \&:
    and the path of the program there.
    Without the option,
    .Ev SERIALQ_HOST
    names the host; an empty value means this machine.
    The same version must be installed on both machines, in a folder that is in
    .Ev PATH
    for ssh, or in
    .Pa ~/.local/bin .
    .Pp
    Paths are those of that machine, and relative to the home directory there.
    Variables, also
    .Ev SERIALQ_QUEUE
    and
    .Ev SERIALQ_DIR ,
    are those of a login there; only those that describe the terminal are passed on:
    .Ev TERM , COLORTERM , NO_COLOR
    and
    .Ev COLUMNS .
    Words arrive unchanged, whatever bytes they contain.
    .Fl f Pa -
    and
    .Fl i Pa -
    read standard input here.
    Colors, widths, keys, signals, output and exit codes are those of the same
    command here.
    .Cm help ,
    .Cm completion
    and
    .Fl -version
    are answered here.
    .Pp
    ssh keeps the connection for ten minutes, so that later calls are fast:
    at a socket in
    .Pa $XDG_RUNTIME_DIR/serialq ,
    or in
    .Pa .ssh
    in the spool.
    To end it earlier, end that process of ssh.
    .Pp
    If the connection is lost, the program connects again, for up to ten minutes.
    Meanwhile the command there continues, and what it prints is kept; nothing is
    lost or repeated.
    A process there that was killed with the connection cannot continue.
    Then
    .Cm add , wait
    and
    .Cm attach
    begin again, and
    .Cm add
    queues its jobs only once: the queue knows the last 1,000 calls.
    Commands that only print begin again if nothing was printed yet.
    Any other command may have been carried out, and the message says how to look.
    .Pp
    A command whose caller is gone ends as if its terminal had closed: within
    seconds if the program here was killed, after ten minutes if the connection was
    lost.
    The jobs there are unaffected, except those that
    .Cm run
    itself executes.
    .Pp
    If a first connection is not possible, or the program there is missing or of
    another version, the exit code is 125, the reason is printed, and nothing was
    changed.

    """#
}

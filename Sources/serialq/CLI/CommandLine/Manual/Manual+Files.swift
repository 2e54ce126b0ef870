import SerialqQueue
import SerialqSystem

// Reboots, environment variables, files and exit codes.
extension Manual {
  static var afterReboot: String {
    let unit = SystemdUnit.text(program: Bytes("/usr/bin/serialq".utf8))
      .split(separator: "\n", omittingEmptySubsequences: false).dropLast()
      .map { Mdoc.literal(String($0)) }.joined(separator: "\n")
    return #"""
      .Sh LOGOUT AND REBOOT
      A runner in the background has a session of its own and no terminal:
      it goes on when the terminal is closed and when its user logs out.
      Where systemd ends all processes of a session with it
      .Pq Li KillUserProcesses=yes ,
      allow the user to linger, and start the runner outside the session:
      .Dl loginctl enable-linger
      .Dl systemd-run --user --scope serialq resume
      .Pp
      When the machine goes down, the running job is interrupted, and what waits
      keeps waiting.
      .Dl serialq resume --all
      .Pp
      then goes on with every queue that has work, and ends every pause.
      So that this happens by itself, either put it into your crontab with
      .Ql crontab -e ,
      with the full path of
      .Nm :
      .Dl @reboot /usr/bin/serialq resume --all
      .Pp
      or have systemd do it with a user unit.
      An installation brings it;
      .Ql serialq help --unit
      prints it with the path of the program:
      .Bd -literal -offset indent
      \#(unit)
      .Ed
      .Pp
      Once it is where systemd looks for units of users, this switches it on, for
      the start of the machine if the user lingers, else for the first login:
      .Dl systemctl --user enable serialq

      """#
  }

  static let environment = #"""
    .Sh ENVIRONMENT
    .Bl -tag -width XDG_STATE_HOME
    .It Ev SERIALQ_DIR
    The folder that holds the queues.
    It has to be an absolute path, as those of the next two.
    .It Ev XDG_STATE_HOME
    Without
    .Ev SERIALQ_DIR ,
    the queues are in
    .Pa $XDG_STATE_HOME/serialq .
    .It Ev HOME
    Without these two, they are in
    .Pa $HOME/.local/state/serialq .
    .It Ev SERIALQ_QUEUE
    The queue that is meant when no option names one.
    .It Ev SERIALQ_JOB
    The job that makes the call, in that queue;
    set for jobs, see
    .Sx JOBS .
    .It Ev VISUAL , EDITOR
    The editor for
    .Cm edit ;
    else it is vi.
    .It Ev NO_COLOR
    If it is there and not empty, nothing is shown in color.
    .It Ev TERM
    Without it, or if it is
    .Li dumb ,
    there is neither color nor a live display.
    .It Ev COLUMNS
    The width to keep to, in the place of the terminal's.
    .El
    .Pp
    An empty variable is as good as none.

    """#

  static let files = #"""
    .Sh FILES
    A queue is a folder below the folder of all queues.
    Folders have the mode 0700 and files 0600.
    A folder that belongs to somebody else, that others can write to, or that is a
    symbolic link is refused.
    .Bl -tag -width runner.log
    .It Pa journal
    What happened to the queue, an event a line:
    the queue itself.
    .It Pa lock
    Locked by whoever appends to it.
    .It Pa runner.lock
    Locked for as long as a runner is at work;
    says which process it is.
    .It Pa runner.log
    What the last runner in the background had to say.
    .It Pa log/ID
    The output of a job, of all attempts that
    .Fl Fl retries
    made, in their order;
    .Cm retry
    begins a new one.
    .It Pa locks/ID
    Locked by the processes of a running job.
    .It Pa env/KEY
    Environments of jobs, each stored once.
    .It Pa hook.log
    The output of the last command that followed a job.
    .It Pa damaged
    Lines that were taken out of the journal because they could not be read.
    .El

    """#

  static let exitStatus = #"""
    .Sh EXIT STATUS
    .Bl -tag -width 128+n
    .It 0
    Fine.
    .It 1
    A job failed.
    .Cm wait
    with one id exits with 1 also if that job has no code, as one that was
    interrupted, skipped, or cancelled before it ran, or if it exited with 0 when it
    was cancelled.
    .It 124
    .Cm wait --timeout
    gave up, or the job that was waited for timed out.
    .It 125
    .Nm
    itself could not:
    the message on standard error says what and why, and what to do next.
    Unless it says otherwise, nothing was done.
    .It 126
    The job could not be executed.
    .It 127
    The program of the job was not found.
    .It 128+n
    The job was ended by signal n, or
    .Nm
    was stopped by it.
    .El
    .Pp
    .Cm wait
    with one id exits with any code that the job exited with.

    """#
}

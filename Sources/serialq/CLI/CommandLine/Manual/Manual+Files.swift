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
      A background runner has its own session and no terminal:
      it keeps running when the terminal is closed and when the user logs out.
      If systemd ends all processes of a session on logout
      .Pq Li KillUserProcesses=yes ,
      enable lingering for the user, and start the runner outside the session:
      .Dl loginctl enable-linger
      .Dl systemd-run --user --scope serialq start
      .Pp
      When the machine shuts down, the running job is interrupted, and waiting jobs
      remain queued.
      To start a runner for every queue that has work:
      .Dl serialq start --all
      .Pp
      A paused queue stays paused until
      .Cm resume .
      .Pp
      To run this at every boot, add it to your crontab with
      .Ql crontab -e ,
      using the full path of
      .Nm :
      .Dl @reboot /usr/bin/serialq start --all
      .Pp
      or use a systemd user unit.
      The installation includes one;
      .Ql serialq help --unit
      prints it with the path of the program:
      .Bd -literal -offset indent
      \#(unit)
      .Ed
      .Pp
      Once the unit is where systemd finds user units, enable it.
      It runs at boot if lingering is enabled for the user, else at the first login:
      .Dl systemctl --user enable serialq

      """#
  }

  static let environment = #"""
    .Sh ENVIRONMENT
    .Bl -tag -width XDG_STATE_HOME
    .It Ev SERIALQ_DIR
    The folder that holds the queues.
    It must be an absolute path, as must the next two, and no folder that users
    share, such as
    .Pa /tmp .
    .It Ev XDG_STATE_HOME
    If
    .Ev SERIALQ_DIR
    is not set, the queues are in
    .Pa $XDG_STATE_HOME/serialq .
    .It Ev HOME
    If neither is set, the queues are in
    .Pa $HOME/.local/state/serialq .
    .It Ev SERIALQ_QUEUE
    The queue to use when no option names one.
    .It Ev SERIALQ_HOST
    The machine whose queues to use when no option names one;
    see
    .Sx BEYOND ONE MACHINE .
    .It Ev SERIALQ_JOB
    The calling job, in that queue;
    set for jobs, see
    .Sx JOBS .
    .It Ev VISUAL , EDITOR
    The editor for
    .Cm edit ;
    the default is vi.
    .It Ev NO_COLOR
    If it is set and not empty, the output has no color.
    .It Ev TERM
    If it is not set or is
    .Li dumb ,
    there is no color and no live display.
    .It Ev COLUMNS
    The width to which
    .Cm list , queues , status
    and
    .Cm report
    cut lines, instead of the terminal's.
    Suggested commands, and the output of
    .Cm show , log
    and
    .Cm help ,
    are not cut.
    .El
    .Pp
    An empty variable counts as not set.

    """#

  static let files = #"""
    .Sh FILES
    Each queue is a folder in the folder that holds the queues.
    The folders and files that
    .Nm
    makes have modes 0700 and 0600.
    A folder is refused if another user owns it or can write to it, or if it is a
    symbolic link.
    .Bl -tag -width runner.log
    .It Pa journal
    The events of the queue, one per line:
    the queue itself.
    .It Pa lock
    Locked while a process appends to the journal.
    .It Pa runner.lock
    Locked while a runner is active;
    its first line is the process id of the last one.
    .It Pa runner.log
    The messages of the last background runner.
    .It Pa log/ID
    The output of a job, with all attempts made by
    .Fl Fl retries
    in order;
    .Cm retry
    starts a new log.
    .It Pa input/ID
    The copy of standard input that
    .Cm add -i -
    made, for job ID and those added with it;
    deleted with the last of them.
    .It Pa locks/ID
    Locked by the processes of a running job.
    .It Pa locks/ID.keeper
    Locked by the keeper of the job's terminal, see
    .Sx INTERNALS ;
    contains its process id and the number of attached terminals.
    .It Pa locks/ID.socket
    The socket at which
    .Cm attach
    connects to the keeper.
    .It Pa locks/ID.result
    The report of the launcher of a running job, see
    .Sx BEYOND ONE MACHINE .
    .It Pa env/KEY
    Environments of jobs, each stored once.
    .It Pa hook.log
    The output of the latest on-finish command.
    .It Pa idle.log
    The output of the latest on-idle command.
    .It Pa ask.log
    The output of the latest on-ask command.
    .It Pa damaged
    Lines that were removed from the journal because they could not be read.
    .El
    .Pp
    Beside the queues,
    .Pa .id
    contains the digits that begin each
    .Ev SERIALQ_KEY ;
    the first launcher makes it.

    """#

  static let exitStatus = #"""
    .Sh EXIT STATUS
    .Bl -tag -width 128+n
    .It 0
    Success.
    .It 1
    A job failed.
    .Cm wait
    with one id also exits with 1 if that job has no exit code because it was
    interrupted, skipped, or cancelled while it waited, or if it exited with 0 when
    it was cancelled.
    .It 124
    .Cm wait --timeout
    reached its limit, or the job that it waited for timed out.
    .It 125
    .Nm
    itself failed:
    the message on standard error says what failed and why, and what to do next.
    Unless the message says otherwise, nothing was done.
    .It 126
    The job could not be executed.
    A file without a known format is run by
    .Pa /bin/sh .
    .It 127
    The program of the job was not found.
    Like 126 and the code of a job, it comes only from
    .Cm wait
    with one id.
    .It 128+n
    Signal n ended the job
    .Pq from Cm wait No with one id ,
    or stopped
    .Nm .
    .El
    .Pp
    .Cm wait
    with one id can exit with any exit code of the job.

    """#
}

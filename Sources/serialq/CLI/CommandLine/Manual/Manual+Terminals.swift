// Jobs with a terminal of their own.
extension Manual {
  static let terminals = #"""
    .Sh TERMINALS
    A job that is added with
    .Fl -tty
    runs in a terminal of its own, as does every job that starts after
    .Cm set tty on :
    it prints with colors and progress bars, and it can ask questions.
    .Cm attach
    connects the terminal of the user to that of the job, at any time and as often
    as needed.
    .Ss What the job gets
    A pseudo-terminal is its standard input, its standard output, its standard error
    and the controlling terminal of its session.
    .Ev TERM
    comes with the environment of the call that added the job.
    The size is that of the terminal of that call, or 24 rows of 80 columns if it
    had none, and then that of the terminal that was attached last.
    .Pp
    Such a job has no
    .Fl -input .
    .Cm set tty on
    leaves jobs with an input without a terminal.
    .Pp
    Everything else is as for any job:
    its place in the queue, its time limit and retries, its exit code,
    .Cm cancel
    and
    .Cm pause --now .
    Each attempt has a new terminal.
    If the runner dies, the job, its terminal and its log continue.
    .Ss Attaching
    .Cm attach
    shows the end of the output so far and then what the job prints.
    What is typed goes to the job as it is:
    Ctrl-C interrupts the job, not
    .Cm attach .
    Only the detach key, Ctrl-\e or that of
    .Fl -detach-key ,
    leaves, and the job continues.
    Ctrl-S and Ctrl-Q are keys like all others: flow control is off, because a
    stopped terminal would hold up the job.
    While
    .Cm attach
    waits for the job to start, or for its next attempt, Ctrl-C ends
    .Cm attach .
    The output of the job goes to the log all the time, whether a terminal is
    attached or not.
    .Pp
    Only the user of the queue can attach.
    Several terminals can show the same job.
    The keys of the one that attached last reach it, and its size counts;
    the others say so.
    When that one leaves, the one before it types again.
    .Pp
    A terminal that stops reading, for example in a lost connection, never holds up
    the job.
    When it reads again, the end of the output is shown anew, and what came before
    that is only in the log.
    .Pp
    If
    .Cm attach
    is stopped with
    .Li kill -TSTP ,
    it restores its terminal, and after
    .Cm fg
    shows the end of the output again.
    .Ss Questions
    .Cm status ,
    .Cm status -w ,
    the live displays of
    .Cm run
    and
    .Cm wait ,
    .Cm list ,
    and the member
    .Va asks
    in JSON say that a job asks for a password:
    it has turned off the echo of its terminal, and waits to read from it.
    They say that a job seems to wait for input if its last line has no end, nothing
    has been printed for two seconds, and it waits to read from its terminal.
    This is a guess.
    A program that prints a whole line and then reads is not noticed, nor one that
    draws the whole screen.
    .Cm set on-ask
    runs a command for each question.
    Nothing is reported while a terminal is attached.
    .Ss Logs of such jobs
    The log has every byte that the job printed, with carriage returns and control
    sequences.
    On a terminal
    .Cm log
    prints the text with its colors and styles;
    elsewhere, and in the excerpts of
    .Cm status ,
    .Cm show ,
    .Cm report
    and JSON, it is plain text.
    A progress bar is one line, in its last state.
    What was drawn on the alternate screen, as by an editor, is left out.
    .Cm log --raw
    prints the bytes.
    Passwords are not in the log, because a terminal does not echo them;
    other answers are, as the terminal echoed them.
    .Ss \&In the foreground
    .Cm run -t
    attaches its own terminal to each job that it adds, as soon as the job runs.
    So interactive programs run in the order of the queue as if they were called
    directly.
    Ctrl-\e returns to the display of
    .Cm run ;
    Ctrl-C then cancels the job, as always in
    .Cm run .
    .Ss Five examples
    .Em "A passphrase" .
    The queue reports the question.
    Answer it, and leave with Ctrl-\e:
    .Bd -literal -offset indent
    serialq add -t 'ssh-add && rsync -a --progress src/ box:dst'
    serialq
    serialq attach
    .Ed
    .Pp
    .Em "A confirmation" .
    Be notified of questions such as
    .Li "Do you want to continue? [Y/n]" ,
    of this job and later ones:
    .Bd -literal -offset indent
    serialq set on-ask 'notify-send "Job $SERIALQ_JOB asks" "$SERIALQ_QUESTION"'
    serialq add -t apt upgrade
    serialq attach
    .Ed
    .Pp
    .Em "A progress bar" .
    Watch it, leave it running with Ctrl-\e, and read its last state:
    .Bd -literal -offset indent
    serialq add -t -n iso wget https://example.org/big.iso
    serialq attach iso
    serialq log iso
    .Ed
    .Pp
    .Em "A shell or a debugger" .
    No other job of the queue runs until it ends:
    .Bd -literal -offset indent
    serialq run -t bash
    .Ed
    .Pp
    .Em "An editor" .
    Leave it and attach again, also from another terminal:
    it draws its screen again.
    .Bd -literal -offset indent
    serialq add -t git rebase -i HEAD~2
    serialq attach
    .Ed
    .Ss Limits
    What a job leaves behind when it ends loses the terminal:
    it receives SIGHUP, and what it prints later is lost.
    Run such a process without a terminal, or start it with
    .Li nohup
    and its own log.
    .Pp
    The job's terminal has no scrollback.
    After a reattachment the lines before the last screen are in the log.
    A program that asks the terminal for its properties, such as its colors, gets no
    answer while none is attached.
    .Pp
    The keys of several terminals, or of a paste, reach the job in one stream:
    .Nm
    cannot know which program of the job reads them.
    .Pp
    If
    .Cm attach
    itself is ended with SIGKILL, its terminal stays as it was;
    some shells restore it, else type
    .Li stty sane
    and Ctrl-J.

    """#
}

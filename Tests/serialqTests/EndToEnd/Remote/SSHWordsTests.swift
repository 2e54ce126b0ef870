import SerialqSystem
import TestSupport
import Testing

/// What a job on another machine is given.
///
/// A suite of its own, because only this needs other shells.
@Suite(.beside, .needs(.ssh, .sshd, .sshKeygen, .flock, .perl, .bash, .busybox, .fish, .tcsh, .zsh))
struct SSHWordsTests {
  // Fails if a word is evaluated by a shell, here or there, or its bytes are changed on the way.
  @Test(
    "the arguments, directory, umask and input of a job are exact on another machine",
    .shows(Elsewhere.words))
  func exact() throws { try expectExact(shell: nil) }

  // Fails if the command of ssh is read differently by a shell that quotes differently.
  @Test(
    "they are exact whatever the login shell there is", .shows(Elsewhere.words),
    arguments: [Tool.bash, .busybox, .fish, .tcsh, .zsh])
  func exact(shell: Tool) throws { try expectExact(shell: shell) }

  private func expectExact(shell: Tool?) throws {
    let path = try #require(shell == nil ? "/bin/sh" : shell?.path())
    let queue = try SSHQueue()
    // The name selects the shell among the programs in `busybox`.
    let link = "\(queue.box.programs.text)/\(shell == .busybox ? "sh" : "login-shell")"
    try #require(symlink(path, link) == 0)
    try queue.box.setLogin(shell: link)
    let scene = queue.scene
    let words = SSHQueue.words
    let script = #"printf '%s\0' "$@" >words; pwd >facts; umask >>facts; cat >>facts"#
    try write(Bytes("input\n"), to: scene.path("data"))
    let start = ["run", "-i", "data", "--", "/bin/sh", "-c", script, "sh"].map { Bytes($0.utf8) }
    let run = try scene.serialq(start + words) { $0.prelude = "umask 027" }
    #expect(run.code == 0 && run.text.isEmpty, "\(run.errorText)\(run.text)")
    #expect(try content(scene.path("words")) == Bytes(words.map { $0 + [0] }.joined()))
    #expect(try content(scene.path("facts")).text == "\(scene.work.text)\n0027\ninput\n")
  }
}

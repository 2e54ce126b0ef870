import SerialqSystem
import TestSupport
import Testing

/// Another machine, which `ssh box` reaches: a real `sshd(8)` on a loopback port.
///
/// Its home directory and its PATH are folders of the scene, its user is that of the
/// tests. `serialq` is installed there. Ended with all its sessions and their processes with the
/// last reference to it.
///
///     @Suite(.needs(.ssh, .sshd, .sshKeygen)) struct RemoteTests {
///       let scene = try Scene()
///       let box = try SSHServer(scene)
///       #expect(try scene.script("ssh box pwd").text == "\(box.home.text)\n")
///       try box.setLogin(shell: "/usr/bin/fish", variables: ["LANG=C"])
///       try box.cut()
///
/// Programs in the scene find an `ssh` that reads `configuration` instead of the user's files.
final class SSHServer {
  /// The home directory there, where each session starts.
  let home: Bytes
  /// The first folder of PATH there.
  let programs: Bytes
  /// For `ssh -F`: defines the host `box`.
  let configuration: Bytes
  private let scene: Scene
  /// The words before those that start `sshd`.
  private let prefix: [Bytes]
  private let folder: Bytes
  private var port = 0
  private var listener: Int32 = 0
  /// The sessions of listeners that have ended.
  private var olderSessions: [Int32] = []

  /// Starts it, through another program such as `nsenter(1)` if `prefix` has its words.
  init(_ scene: Scene, prefix: [Bytes] = []) throws {
    self.scene = scene
    self.prefix = prefix
    folder = scene.folder.path("sshd\(scene.nextNumber())")
    home = folder.appending(path: Bytes("home"))
    programs = home.appending(path: Bytes("bin"))
    configuration = folder.appending(path: Bytes("ssh_config"))
    for path in [folder, home, programs] { _ = try FileSystem.makeFolder(path) }
    let prepared = try scene.script(
      """
      cd '\(folder.text)' && ssh-keygen -q -t ed25519 -N '' -f host &&
        ssh-keygen -q -t ed25519 -N '' -f user && echo "box $(cat host.pub)" >known_hosts &&
        ln -s '\(scene.programs.text)/serialq' home/bin/serialq &&
        { [ "$(id -u)" != 0 ] || mkdir -p -m 755 /run/sshd; }
      """)
    try #require(prepared.code == 0, "\(prepared.errorText)")
    try setLogin()
    let ssh = try #require(Tool.ssh.path())
    try writeProgram(
      Bytes("#!/bin/sh\nexec \(ssh) -F '\(configuration.text)' \"$@\"\n".utf8),
      to: scene.programs.appending(path: Bytes("ssh")))
    try chooseFreePort()
  }

  deinit {
    let sessions = self.sessions
    for pid in [listener] + sessions where pid > 0 { _ = kill(pid, SIGKILL) }
    killMarkedProcesses(with: Bytes(mark.utf8))
  }

  // MARK: The machine

  /// Sets the login shell and additional variables of new sessions.
  func setLogin(shell: String = "/bin/sh", variables: [String] = []) throws {
    let path = ([programs.text] + Tool.folders).joined(separator: ":")
    let settings =
      ["HOME=\(home.text)", "PATH=\(path)", "SHELL=\(shell)", mark]
      + Scene.sanitizerOptions.map(\.text) + variables
    // Without what the shell of the user who runs the tests has set.
    try writeProgram(
      Bytes(
        """
        #!/bin/sh
        command=$SSH_ORIGINAL_COMMAND
        cd '\(home.text)' || exit
        set -- ${TERM:+"TERM=$TERM"} ${SSH_TTY:+"SSH_TTY=$SSH_TTY"} "SSH_CONNECTION=$SSH_CONNECTION" \
          "USER=$USER" "LOGNAME=$LOGNAME" \(settings.map { "'\($0)'" }.joined(separator: " "))
        [ -n "$command" ] && exec env -i "$@" '\(shell)' -c "$command"
        exec env -i "$@" '\(shell)' -l

        """.utf8), to: login)
  }

  /// Makes PATH of new sessions a folder with only these programs.
  func setLogin(tools: [String]) throws {
    for tool in tools {
      let place = try scene.script("command -v \(tool)").text.dropLast()
      try #require(symlink(String(place), "\(programs.text)/\(tool)") == 0)
    }
    try setLogin(variables: ["PATH=\(programs.text)"])
  }

  /// Adds lines to the section of `box` in the configuration of the client.
  func configure(_ lines: String...) throws {
    let usual = [
      "HostName 127.0.0.1", "Port \(port)", "HostKeyAlias box", "StrictHostKeyChecking yes",
      "IdentityFile \(folder.text)/user", "IdentitiesOnly yes", "IdentityAgent none",
      "UserKnownHostsFile \(folder.text)/known_hosts", "GlobalKnownHostsFile /dev/null",
      // The usual one takes most of the work of a connection.
      "KexAlgorithms curve25519-sha256",
    ]
    let text = (["Host box"] + lines + usual).joined(separator: "\n  ") + "\n"
    try write(Bytes(text.utf8), to: configuration)
  }

  /// The live processes of all sessions, except those of `sshd` itself.
  func processes() throws -> [Int32] {
    try markedProcesses(with: Bytes(mark.utf8))
  }

  // MARK: The network

  /// Ends all connections; the processes of their sessions continue.
  func cut() throws { try signalSessions(SIGKILL) }

  /// Stops answering on all connections, like a machine that is cut off from the network.
  func freeze() throws { try signalSessions(SIGSTOP) }

  /// Refuses new connections; those that exist continue.
  func refuse() throws {
    olderSessions = sessions
    try #require(kill(listener, SIGTERM) == 0)
    listener = 0
    // Removed after the port was closed.
    try waitUntil("the end of sshd", watching: [folder]) {
      try FileSystem.status(of: listenerFile) == nil
    }
  }

  /// Accepts connections, at first and again.
  func accept() throws {
    let sshd = try #require(Tool.sshd.path())
    let log = folder.appending(path: Bytes("log"))
    try write([], to: log)
    let words = [sshd, "-f", serverConfiguration.text, "-E", log.text].map { Bytes($0.utf8) }
    // A daemon: other programs of the scene are ended after some time.
    let start = try scene.launch(prefix + words).wait()
    try #require(start.code == 0, "\(start.errorText)")
    try waitUntil("sshd", watching: [folder]) {
      let text = try FileDescriptor.openIfThere(listenerFile, .read)?.readAll().text
      listener = text?.hasSuffix("\n") == true ? Int32(text?.dropLast() ?? "") ?? 0 : 0
      let said = try FileDescriptor.openIfThere(log, .read)?.readAll().text ?? ""
      if said.contains("Cannot bind") { throw Failure("sshd", said, next: "Use another port.") }
      return listener != 0
    }
  }

  // MARK: Parts

  private func chooseFreePort() throws {
    for attempt in 1... {
      port = LoopbackPorts.nextFour()
      try writeServerConfiguration()
      try configure()
      do {
        return try accept()
      } catch {
        if attempt == 10 { throw error }
      }
    }
  }

  private var mark: String { "SERIALQ_TEST_SSHD=\(folder.text)" }
  private var login: Bytes { folder.appending(path: Bytes("login")) }
  private var serverConfiguration: Bytes { folder.appending(path: Bytes("sshd_config")) }
  private var listenerFile: Bytes { folder.appending(path: Bytes("pid")) }

  /// Each session runs `login` instead of the login shell, with the real command in a variable.
  ///
  /// By the user's shell, which must not read the user's files: some shells read them if `sshd`
  /// starts them, and print what goes wrong.
  private func writeServerConfiguration() throws {
    let folder = folder.text
    let text = """
      Port \(port)
      ListenAddress 127.0.0.1
      HostKey \(folder)/host
      PidFile \(folder)/pid
      AuthorizedKeysFile \(folder)/user.pub
      ForceCommand \(folder)/login
      SetEnv HOME=\(folder)
      StrictModes no
      UsePAM no
      PermitRootLogin yes
      PasswordAuthentication no
      KbdInteractiveAuthentication no
      UseDNS no
      PrintMotd no
      PrintLastLog no
      MaxStartups 1000
      MaxSessions 1000

      """
    try write(Bytes(text.utf8), to: serverConfiguration)
    // Newer versions make a client wait after some errors; older ones do not know the option.
    let quiet = "PerSourcePenalties no"
    let sshd = try #require(Tool.sshd.path())
    let check = try scene.script("'\(sshd)' -t -f '\(serverConfiguration.text)' -o '\(quiet)'")
    if check.code == 0 { try write(Bytes("\(text)\(quiet)\n".utf8), to: serverConfiguration) }
  }

  /// The processes of `sshd` that serve a connection.
  private var sessions: [Int32] {
    let all = ((try? FileSystem.names(in: Bytes("/proc"))) ?? []).compactMap { Int32($0.text) }
      .compactMap { ProcessStatus.of($0) }.filter { $0.name.text.hasPrefix("sshd") }
    var found = all.map(\.pid).filter(olderSessions.contains)
    var parents = Set(found + [listener]).subtracting([0])
    while true {
      let children = all.filter { parents.contains($0.parent) && !found.contains($0.pid) }
      if children.isEmpty { return found }
      found += children.map(\.pid)
      parents.formUnion(children.map(\.pid))
    }
  }

  private func signalSessions(_ signal: Int32) throws {
    for pid in sessions where kill(pid, signal) != 0 { try #require(errno == ESRCH) }
  }
}

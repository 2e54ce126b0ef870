import Foundation
import SerialqSystem
import TestSupport
import Testing

/// Three nodes of Slurm on this machine: real daemons on loopback ports, with a folder of their
/// own.
///
/// Needs root. Ended with all its daemons and tasks with the last reference to it.
///
///     @Suite(.needsSlurm, .needsRoot) struct SlurmTests {
///       let scene = try Scene()
///       let cluster = try SlurmCluster(scene)
///       try cluster.addPrograms(to: scene)
///       #expect(try scene.script("srun -w n2 pwd").text == "\(scene.work.text)\n")
///       try cluster.killNode("n2")
final class SlurmCluster {
  /// For all tests that end no daemon; ended with the tests.
  nonisolated(unsafe) static let shared: Result<SlurmCluster, any Error> = Result {
    _ = atexit {
      guard let cluster = try? SlurmCluster.shared.get() else { return }
      killMarkedProcesses(with: cluster.mark)
      TemporaryFolder.remove(cluster.scene.folder.path)
    }
    return try SlurmCluster(Scene())
  }

  private static let nodes = ["n1", "n2", "n3"]
  private let scene: Scene
  private let folder: Bytes

  init(_ scene: Scene) throws {
    self.scene = scene
    folder = scene.folder.path("slurm\(scene.nextNumber())")
    let folders = ["", "/munge", "/state", "/run", "/log"] + Self.nodes.map { "/spool.\($0)" }
    for path in folders { _ = try FileSystem.makeFolder(folder + Bytes(path.utf8)) }
    let host = try scene.script("hostname -s").text.dropLast()
    try write(Bytes(configuration(host: String(host)).utf8), to: configurationFile)
    try addPrograms(to: scene)
    try run(
      "head -c 1024 /dev/urandom >munge/key", "chmod 600 munge/key",
      """
      munged --force --key-file="$PWD/munge/key" --socket="$PWD/munge/socket" \
        --pid-file="$PWD/munge/pid" --log-file="$PWD/munge/log" --seed-file="$PWD/munge/seed"
      """, "slurmctld -i")
    for node in Self.nodes { try run("slurmd -N \(node)") }
    // Starts when all nodes have registered.
    let outcome = try scene.script("srun --quiet --nodes=3 true")
    try #require(outcome.code == 0, "\(outcome.errorText)")
  }

  deinit { killMarkedProcesses(with: mark) }

  // MARK: Daemons

  /// Kills the daemon of a node, and those of its tasks; the tasks themselves continue.
  func killNode(_ name: String) throws {
    try end(daemon("slurmd.\(name)"))
    try endAll("slurmstepd")
  }

  func killController() throws { try end(daemon("slurmctld")) }

  /// Starts the controller again, with the state that it has saved.
  func startController() throws { try run("slurmctld") }

  /// Returns when the controller has saved a job of a queue.
  func waitForSavedJob() throws {
    let state = folder.appending(path: Bytes("state"))
    try waitUntil("a saved job", watching: [state]) {
      let file = try FileDescriptor.openIfThere(state.appending(path: Bytes("job_state")), .read)
      return try Data(file?.readAll() ?? []).range(of: Data(Bytes("serialq-"))) != nil
    }
  }

  // MARK: Jobs

  /// Returns when Slurm has no job of this scene that is not over.
  func waitForNoJob(of scene: Scene) throws {
    let name = "serialq-\(try scene.queueFolder().spoolIdentity().text)"
    // The one that waited for the nodes can be recovered with the state of a killed controller.
    let found = try scene.script("squeue -h -o '%A %j' | sed -n 's/ \(name).*//p'").text
    guard !found.isEmpty else { return }
    let ids = found.split(separator: "\n").joined(separator: ":")
    let outcome = try scene.script("srun --quiet --dependency=afterany:\(ids) true")
    #expect(outcome.code == 0, "\(ids): \(outcome.errorText)")
  }

  /// Kills the processes of a scene that wait for a task here, as a crash of this machine does:
  /// none of them observes the end of another one, and cancels the task.
  func killClients(of scene: Scene) throws {
    let clients = try scene.processes().filter { ProcessStatus.of($0)?.name.text == "srun" }
    for pid in clients { kill(pid, SIGSTOP) }
    for pid in clients { try end(pid) }
  }

  // MARK: Parts

  private var configurationFile: Bytes { folder.appending(path: Bytes("slurm.conf")) }

  /// In the environment of daemons, clients and tasks.
  private var mark: Bytes { Bytes("SLURM_CONF=") + configurationFile }

  private func daemon(_ name: String) throws -> Int32 {
    let text = try content(folder.appending(path: Bytes("run/\(name).pid".utf8))).text
    return try #require(Int32(text.prefix { $0.isNumber }))
  }

  /// Kills a process, which is no child of this one; when this returns, it is dead.
  private func end(_ pid: Int32) throws {
    let handle = ProcessHandle(pid)
    _ = handle.send(SIGKILL)
    try #require(try handle.waitForEnd(until: LaunchedProgram.deadline()) != false)
  }

  /// Kills the processes of the cluster with this name.
  private func endAll(_ name: String) throws {
    for pid in try markedProcesses(with: mark)
    where ProcessStatus.of(pid)?.name.text == name { try end(pid) }
  }

  /// Runs lines of a script with the configuration; daemons leave their parent by themselves.
  private func run(_ lines: String...) throws {
    let head = "export SLURM_CONF='\(configurationFile.text)'; cd '\(folder.text)'"
    let path = "PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin"
    let outcome = try scene.script(([path, head] + lines).joined(separator: " && "))
    try #require(outcome.code == 0, "\(outcome.errorText)")
  }

  /// Programs of the scene find `serialq-slurm` and the commands of Slurm, which reach this
  /// cluster.
  func addPrograms(to scene: Scene) throws {
    for tool in [Tool.srun, .squeue, .scancel, .scontrol] {
      let path = try #require(tool.path())
      try writeProgram(
        Bytes("#!/bin/sh\nSLURM_CONF='\(configurationFile.text)' exec \(path) \"$@\"\n".utf8),
        to: scene.programs.appending(path: Bytes(tool.rawValue.utf8)))
    }
    try scene.addLauncher("serialq-slurm", "serialq-slurm-remote")
  }

  private func configuration(host: String) -> String {
    let folder = folder.text
    let port = LoopbackPorts.nextFour()
    let nodes = Self.nodes.enumerated().map { number, name in
      """
      NodeName=\(name) NodeHostname=\(host) NodeAddr=127.0.0.1 Port=\(port + 1 + number) \
      CPUs=8 State=UNKNOWN
      """
    }
    return """
      ClusterName=serialq
      SlurmctldHost=\(host)(127.0.0.1)
      SlurmctldPort=\(port)
      SlurmUser=root
      SlurmdUser=root
      AuthType=auth/munge
      AuthInfo=socket=\(folder)/munge/socket
      CredType=cred/munge
      StateSaveLocation=\(folder)/state
      SlurmdSpoolDir=\(folder)/spool.%n
      SlurmctldPidFile=\(folder)/run/slurmctld.pid
      SlurmdPidFile=\(folder)/run/slurmd.%n.pid
      SlurmctldLogFile=\(folder)/log/slurmctld.log
      SlurmdLogFile=\(folder)/log/slurmd.%n.log
      ProctrackType=proctrack/linuxproc
      TaskPlugin=task/none
      SelectType=select/cons_tres
      SelectTypeParameters=CR_Core
      SchedulerType=sched/backfill
      AccountingStorageType=accounting_storage/none
      JobAcctGatherType=jobacct_gather/none
      MpiDefault=none
      SwitchType=switch/none
      ReturnToService=2
      SlurmdTimeout=5
      SlurmctldTimeout=5
      KillWait=5
      MinJobAge=300
      MailProg=/bin/true
      SlurmdParameters=config_overrides
      \(nodes.joined(separator: "\n"))
      PartitionName=main Nodes=n1,n2,n3 Default=YES MaxTime=INFINITE State=UP

      """
  }
}

extension Trait where Self == ConditionTrait {
  static var needsSlurm: Self {
    .needs(.srun, .squeue, .scancel, .scontrol, .slurmctld, .slurmd, .munged)
  }

  /// The daemons change to the user of each task.
  static var needsRoot: Self { .enabled(if: geteuid() == 0, "needs root") }
}

import Foundation
import SerialqSystem
import TestSupport
import Testing

/// A Slurm cluster of one controller and three nodes on this machine, n1 to n3.
///
/// All its files are in a folder of the scene, and its ports are on the loopback interface. Ended
/// with its jobs with the last reference to it.
final class SlurmCluster {
  /// The command that executes jobs there, for `set launcher`.
  let launcher: String
  private let scene: Scene
  private let folder: Bytes

  init(_ scene: Scene) throws {
    self.scene = scene
    folder = scene.folder.path("slurm\(scene.nextNumber())")
    launcher = "env SLURM_CONF=\(folder.text)/slurm.conf serialq-slurm"
    // SlurmctldHost and the file of the configuration name this folder.
    for name in ["", "munge", "state", "run", "log"] {
      _ = try FileSystem.makeFolder(name.isEmpty ? folder : folder.appending(path: Bytes(name.utf8)))
    }
    let repository = (0..<5).reduce(URL(fileURLWithPath: #filePath)) { url, _ in
      url.deletingLastPathComponent()
    }
    let source = repository.path + "/Sources/serialq/Launchers/serialq-slurm"
    try #require(symlink(source, scene.programs.text + "/serialq-slurm") == 0)
    let names = try script("hostname -s; id -un").text.split(separator: "\n").map(String.init)
    try write(
      Bytes(configuration(host: names[0], user: names[1]).utf8),
      to: folder.appending(path: Bytes("slurm.conf")))
    let start = try script(
      """
      cd '\(folder.text)' && chmod 755 . munge && umask 022 &&
        (umask 077; head -c 1024 /dev/urandom >key) && munged --force --key-file="$PWD/key" \
          --socket="$PWD/munge/socket" --pid-file="$PWD/munge/pid" --log-file="$PWD/munge/log" \
          --seed-file="$PWD/munge/seed" && slurmctld -i &&
        for node in n1 n2 n3; do slurmd -N "$node" || exit; done
      """)
    try #require(start.code == 0, "\(start.errorText)")
    try waitUntilIdle()
  }

  deinit {
    // A process can start another one before it receives its signal.
    while let found = try? processes(), !found.isEmpty {
      for pid in found { kill(pid, SIGKILL) }
    }
  }

  /// Runs a script of the shell, with the programs of Slurm for this cluster.
  func script(_ text: String) throws -> Outcome {
    try scene.script(
      "PATH=$PATH:/usr/sbin:/sbin; export SLURM_CONF='\(folder.text)/slurm.conf'\n\(text)")
  }

  /// Waits until all nodes are idle: no job has an allocation.
  func waitUntilIdle() throws {
    let idle = try script(
      "until [ \"$(sinfo -h -o '%D %t' 2>/dev/null)\" = '3 idle' ]; do sleep 0.1; done")
    try #require(idle.code == 0)
  }

  /// Kills the controller.
  func killController() throws {
    try #require(try script("kill -9 $(cat '\(folder.text)/run/slurmctld.pid')").code == 0)
  }

  /// Starts the controller again, with the state that it has saved.
  func startController() throws {
    let start = try script("slurmctld")
    try #require(start.code == 0, "\(start.errorText)")
  }

  /// Waits until the controller has saved a job that is named so.
  func waitUntilSaved(_ text: String) throws {
    let state = folder.appending(path: Bytes("state"))
    try waitUntil("\(text) in the state of the controller", watching: [state]) {
      let file = try FileDescriptor.openIfThere(
        state.appending(path: Bytes("job_state")), .read)
      return Data(try file?.readAll() ?? []).range(of: Data(text.utf8)) != nil
    }
  }

  /// Kills a node's daemon and those that supervise its tasks.
  func killNode(_ name: String) throws {
    let supervisors = try processes().filter {
      let words = try? content(Bytes("/proc/\($0)/cmdline".utf8))
      return words?.text.hasPrefix("slurmstepd") == true
    }
    let pid = try content(folder.appending(path: Bytes("run/slurmd.\(name).pid".utf8))).text
    for pid in [try #require(Int32(pid.filter(\.isNumber)))] + supervisors { kill(pid, SIGKILL) }
  }

  /// The live processes of the cluster, with those of its jobs.
  private func processes() throws -> [Int32] {
    let mark = Data([0] + Bytes("SLURM_CONF=\(folder.text)/slurm.conf".utf8) + [0])
    let supervisor = folder.text + "/"
    return try FileSystem.names(in: Bytes("/proc")).compactMap { Int32($0.text) }.filter { pid in
      let variables = try? content(Bytes("/proc/\(pid)/environ".utf8))
      if Data([0] + (variables ?? [])).range(of: mark) != nil { return true }
      let words = try? content(Bytes("/proc/\(pid)/cmdline".utf8)).text
      return words?.contains(supervisor) == true && words?.contains("munged") == true
    }
  }

  private func configuration(host: String, user: String) -> String {
    let folder = folder.text
    // Below the ports that the system assigns.
    let port = Int.random(in: 20_000..<31_000)
    let nodes = (1...3).map {
      "NodeName=n\($0) NodeHostname=\(host) NodeAddr=127.0.0.1 Port=\(port + $0) CPUs=2 State=UNKNOWN"
    }
    return """
      ClusterName=serialq
      SlurmctldHost=\(host)(127.0.0.1)
      SlurmctldPort=\(port)
      SlurmUser=\(user)
      SlurmdUser=\(user)
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
      SlurmdTimeout=10
      SlurmctldTimeout=10
      InactiveLimit=10
      KillWait=5
      MinJobAge=300
      MailProg=/bin/true
      SlurmdParameters=config_overrides
      \(nodes.joined(separator: "\n"))
      PartitionName=main Nodes=n1,n2,n3 Default=YES MaxTime=INFINITE State=UP

      """
  }
}

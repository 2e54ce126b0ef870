import Foundation
import SerialqQueue
import SerialqSystem
import TestSupport
import Testing

/// The unit, under a real user manager of its own.
@Suite(
  .needs(.systemctl, .unshare, .mount),
  .enabled(if: UserManager.canStart, "no user manager of systemd can be started here"))
final class SystemdTests: SceneSuite {
  // Fails if the failure of `start --all` ends what it has started, or the unit hides it: for both,
  // start serialq without a scope, with and without `ExecStart=-`. Or if the end of the session
  // kills the jobs at once, or counts as their failure.
  @Test(
    "the unit starts the queues that can be read, and the end of the session interrupts their jobs",
    .shows(Running.bootEntries))
  func unit() throws {
    let trapping = "trap 'echo ended; exit 5' TERM; echo begun; while :; do read x <gate; done"
    for (queue, line) in [("default", trapping), ("plain", "echo begun; exec sleep 1000")] {
      for line in [line, "true"] {
        #expect(try scene.serialq("add", "--no-start", "-q", queue, "-c", line).code == 0)
      }
    }
    #expect(try scene.serialq("add", "--no-start", "-q", "broken", "true").code == 0)
    let journal = try scene.queueFolder("broken").path.appending(path: Bytes("journal"))
    try FileSystem.remove(journal)
    try #require(try FileSystem.makeFolder(journal))
    let outcome = try UserManager.run(
      in: scene,
      """
      begun() { until serialq log -q "$1" 1 2>&1 | grep -q begun; do sleep 0.05; done; }
      systemctl --user start serialq && echo "no failure"
      begun default; begun plain
      systemctl --user status serialq
      systemctl --user stop serialq
      systemctl --user restart serialq && echo "no failure"
      serialq queues
      """)
    let text = outcome.text
    #expect(text.contains("Active: failed") && text.contains("status=125"), "\(text)")
    #expect(!text.contains("no failure"), "\(text)")
    #expect(text.contains(#/default +1 +1 .*\nplain +1 +1 /#), "\(text)\(outcome.errorText)")
    for queue in ["default", "plain"] {
      #expect(try scene.states(queue) == [.interrupted, .waiting], "\(queue)")
    }
    #expect(try scene.log(1).text.hasSuffix("ended\n"))
  }
}

/// A user manager of systemd, with the unit of serialq and nothing else.
///
/// Needs root, a mount namespace and a hierarchy of cgroup2 that can be changed. The manager sees a
/// group of its own in it, as one of a login does.
private enum UserManager {
  static let canStart: Bool = {
    guard geteuid() == 0, let scene = try? Scene() else { return false }
    return (try? run(in: scene, "systemctl --user show-environment"))?.text.contains("PATH=")
      == true
  }()

  /// Runs lines of a script while a manager is active; returns after its regular end.
  static func run(in scene: Scene, _ script: String) throws -> Outcome {
    let unit = try String(
      contentsOf: repository.appendingPathComponent("Scripts/serialq.service"), encoding: .utf8)
    let folder = scene.folder.path("manager")
    let units = folder.appending(path: Bytes("systemd/user"))
    for part in ["manager", "manager/systemd", "manager/systemd/user", "manager/run"] {
      _ = try FileSystem.makeFolder(scene.folder.path(part))
    }
    let program = "\(scene.programs.text)/serialq"
    try write(
      Bytes(unit.replacing("/usr/bin/serialq", with: program).utf8),
      to: units.appending(path: Bytes("serialq.service")))
    try write(
      Bytes(
        """
        umount /sys/fs/cgroup && mount -t cgroup2 cgroup2 /sys/fs/cgroup || exit
        export XDG_CONFIG_HOME='\(folder.text)' XDG_RUNTIME_DIR='\(folder.text)/run'
        systemd=/usr/lib/systemd/systemd
        [ -x $systemd ] || systemd=/lib/systemd/systemd
        $systemd --user >'\(folder.text)/log' 2>&1 &
        manager=$!
        until [ -S "$XDG_RUNTIME_DIR/systemd/private" ]; do
          kill -0 $manager || exit
          sleep 0.05
        done
        \(script)
        systemctl --user exit
        wait $manager

        """.utf8), to: folder.appending(path: Bytes("inside")))
    // A manager is started where systemd is the init system only.
    return try scene.script(
      """
      exec unshare --mount sh -c '
        mount -t tmpfs tmpfs /run && mkdir -p /run/systemd/system &&
          mount -t cgroup2 cgroup2 /sys/fs/cgroup || exit
        group=$(mktemp -d /sys/fs/cgroup/serialq-test-XXXXXX) || exit
        unshare --pid --fork --kill-child --mount-proc sh -c "
          echo 0 >$group/cgroup.procs && exec unshare --cgroup --mount sh $0"
        code=$?
        find $group -depth -type d -exec rmdir {} \\;
        exit $code' '\(folder.text)/inside'
      """)
  }
}

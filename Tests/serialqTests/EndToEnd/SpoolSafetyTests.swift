import SerialqSystem
import TestSupport
import Testing

/// Locations that are not trusted, or not writable.
@Suite final class SpoolSafetyTests: SceneSuite {
  private static let isRoot = geteuid() == 0
  private static let otherUser: uid_t = 65_534

  /// Whether a separate file system can be mounted, invisible to other processes.
  private static let canMount: Bool = {
    guard isRoot, let scene = try? Scene() else { return false }
    return (try? scene.script("unshare -m mount -t tmpfs tmpfs .").code) == 0
  }()

  // Fails if the advice is to change the mode of a folder such as /tmp.
  @Test("a spool that users share is refused, and another one is suggested")
  func shared() throws {
    #expect(try scene.script("mkdir shared; chmod 1777 shared").code == 0)
    let path = scene.path("shared").text
    let outcome = try scene.serialq("add", "--no-start", "true") {
      $0.environment.append(Bytes("SERIALQ_DIR=\(path)".utf8))
    }
    expectRefusal(outcome, "\(path): it is a folder that users share (mode 1777)")
    #expect(outcome.errorText.contains("export SERIALQ_DIR=\(path)/serialq-\(geteuid())\n"))
    #expect(!outcome.errorText.contains("chmod"))
  }

  // Fails if the owner is not checked: another user's commands would run.
  @Test(
    "a spool of another user is refused", .shows(OnDisk.strangersAreRefused),
    .enabled(if: isRoot, "only root can give it away"))
  func owner() throws {
    try scene.add("true")
    let before = try scene.journal()
    #expect(try scene.script("chown \(Self.otherUser) '\(scene.spool.text)'").code == 0)
    for words in [["add", "--no-start", "true"], ["list"], ["run"]] {
      let outcome = try scene.serialq(words)
      expectRefusal(outcome, "\(scene.spool.text): belongs to user \(Self.otherUser)")
    }
    #expect(try scene.journal() == before)
  }

  // Fails if a forbidden operation ends in a crash, or in success.
  @Test(
    "a spool that is not writable is reported, and can still be read",
    .shows(OnDisk.failuresChangeNothing),
    .needs(.setpriv), .needsOtherUser)
  func notWritable() throws {
    // Root bypasses permissions.
    let owner = OtherUser(65_534, scene)
    try owner.own()
    let ran = try owner.script("serialq add --no-start 'echo text'; serialq run")
    #expect(ran.text == "1\ntext\n")
    let before = try scene.journal()
    #expect(try scene.script("chmod -R a-w '\(scene.spool.text)'").code == 0)
    expectRefusal(try owner.script("serialq add true"), "locking ")
    expectRefusal(try owner.script("serialq add -q new true"), "creating ")
    let read = try owner.script("serialq list && serialq status && serialq log 1; serialq log -f 1")
    #expect(read.text.contains("succeeded") && read.text.hasSuffix("\ntext\ntext\n"))
    #expect(try scene.journal() == before)
    #expect(try scene.script("chmod -R u+w '\(scene.spool.text)'").code == 0)
  }

  // Fails if half a batch stays in the journal, or the queue cannot be used after space is freed.
  @Test(
    "on a full disk an add is refused as a whole, and works again when there is space",
    .shows(OnDisk.failuresChangeNothing),
    .needs(.unshare, .mount),
    .enabled(if: canMount, "mounting a tmpfs needs root and a mount namespace"))
  func fullDisk() throws {
    let lines = (1...2_000).map { "echo a line that takes some room \($0)\n" }.joined()
    try write(Bytes(lines.utf8), to: scene.path("jobs"))
    let outcome = try inMount(
      options: "size=256k",
      """
      serialq add --no-start 'echo first'
      head -c 200k /dev/zero >"$SERIALQ_DIR/fill"
      cp "$SERIALQ_DIR/default/journal" before
      serialq add --no-start -f jobs 2>refused; echo $?
      cmp "$SERIALQ_DIR/default/journal" before && echo same
      head -c 1M /dev/zero >>"$SERIALQ_DIR/fill" 2>/dev/null
      serialq run 2>refused-run; echo $?
      rm "$SERIALQ_DIR/fill"
      serialq add --no-start 'echo second'
      serialq run 2>/dev/null; echo $?
      """)
    #expect(outcome.text.hasPrefix("1\n125\nsame\n"))
    #expect(outcome.text.hasSuffix("second\n0\n") || outcome.text.hasSuffix("second\n1\n"))
    let refused = try content(scene.path("refused")).text
    #expect(refused.hasPrefix("serialq: writing ") && refused.contains("No space left on device"))
    #expect(refused.contains("the queue is unchanged"))
  }

  // Fails if a read needs to write.
  @Test(
    "a read-only file system refuses an add, and can be read",
    .shows(OnDisk.failuresChangeNothing),
    .needs(.unshare, .mount),
    .enabled(if: canMount, "mounting a tmpfs needs root and a mount namespace"))
  func readOnly() throws {
    let outcome = try inMount(
      options: "size=1m",
      """
      serialq run 'echo text' && serialq add --no-start true
      mount -o remount,ro "$SERIALQ_DIR"
      serialq add --no-start true 2>refused; echo $?
      serialq run 2>>refused; echo $?
      serialq log 1; serialq log -f 1
      serialq status >/dev/null && serialq show 1 >/dev/null && serialq list --json >/dev/null
      echo $?
      """)
    #expect(outcome.text == "text\n2\n125\n125\ntext\ntext\n0\n")
    #expect(outcome.errorText == "")
    let refused = try content(scene.path("refused")).text.split(separator: "\n")
    #expect(refused.filter { $0.contains("Read-only file system") }.count == 2)
  }

  // Fails if the reason is lost: the log of the runner is on the full disk too.
  @Test(
    "wait names the full disk that ends the runners",
    .enabled(if: canMount, "mounting a tmpfs needs root and a mount namespace"))
  func fullDiskDuringWait() throws {
    let lines = (1...40).map { "echo a line that takes some room \($0)\n" }.joined()
    try write(Bytes(lines.utf8), to: scene.path("jobs"))
    let outcome = try inMount(
      options: "size=512k",
      """
      mkfifo gate
      serialq add 'read x <gate' >ids
      serialq add --no-start -f jobs >ids
      serialq wait 2>refused &
      head -c 1M /dev/zero >"$SERIALQ_DIR/fill" 2>/dev/null
      echo go >gate
      wait $!; echo $?
      rm "$SERIALQ_DIR/fill"
      serialq wait 2>ids
      serialq list --state waiting
      """)
    #expect(outcome.text == "125\n")
    let refused = try content(scene.path("refused")).text
    #expect(refused.hasPrefix("serialq: queue default: "), "\(refused)")
    #expect(refused.contains("No space left on device"), "\(refused)")
    #expect(refused.hasSuffix("serialq start\n"), "\(refused)")
  }

  private func inMount(options: String, _ script: String) throws -> Outcome {
    try write(Bytes(script.utf8), to: scene.path("script"))
    return try scene.script(
      """
      mkdir -m 700 "$SERIALQ_DIR" && exec unshare -m sh -c '
        mount -t tmpfs -o mode=700,\(options) tmpfs "$SERIALQ_DIR" && . ./script'
      """)
  }
}

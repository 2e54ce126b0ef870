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
    let root = try scene.serialq("queues") { $0.environment.append(Bytes("SERIALQ_DIR=/".utf8)) }
    expectRefusal(root, "/: it is a folder that users share")
    #expect(root.errorText.hasSuffix("export SERIALQ_DIR=/serialq-\(geteuid())\n"))
  }

  // Fails if the advice is to change or move a device, or a part of the system.
  @Test("a device or a part of the system is refused, and is not to be changed")
  func system() throws {
    for path in ["/dev/full", "/dev/full/queues", "/etc/passwd", "/etc/passwd/a/b"] {
      let outcome = try scene.serialq("add", "true") {
        $0.environment.append(Bytes("SERIALQ_DIR=\(path)".utf8))
      }
      let named = path.split(separator: "/").prefix(2).joined(separator: "/")
      expectRefusal(
        outcome, "/\(named): is not a folder\nSet SERIALQ_DIR to a folder of your own.\n")
    }
    #expect(try scene.script("touch own").code == 0)
    let own = try scene.script("SERIALQ_DIR=\"$PWD/own/queues\" serialq list")
    expectRefusal(own, "\(scene.path("own").text): is not a folder\nMove it away, or set")
  }

  // Fails if the advice is to change a folder of root that belongs to the system: /usr/local on
  // Debian.
  @Test(
    "the mode of a folder of the system is not to be changed by root", .needs(.unshare, .mount),
    .enabled(if: canMount, "needs root and a mount namespace"))
  func systemFolder() throws {
    let mount = "mount -t tmpfs -o mode=775 tmpfs /srv"
    let outcome = try scene.script(
      "exec unshare -m sh -c '\(mount) && SERIALQ_DIR=/srv/q serialq list'")
    expectRefusal(
      outcome, "/srv: others can write to it (mode 775, owner 0)\nSet SERIALQ_DIR to a folder of")
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

  // Fails if only the spool is checked, and not the folders above it.
  @Test(
    "a tree that another user puts in place of the spool is refused, and none of its jobs runs",
    .shows(OnDisk.strangersAreRefused), .needs(.setpriv), .needsOtherUser)
  func exchanged() throws {
    let (victim, attacker) = (try OtherUser(owning: scene), OtherUser(65_533, scene))
    let spool = "SERIALQ_DIR=\"$PWD/shared/a/q\""
    let added = """
      mkdir shared && \(spool) serialq add --no-start true &&
        SERIALQ_DIR="$PWD/shared/b/q" serialq add --no-start 'touch attacked' && chmod 777 shared
      """
    #expect(try victim.script(added).text == "1\n1\n")
    #expect(try attacker.script("cd shared && mv a c && mv b a").code == 0)
    let path = scene.path("shared").text
    let refused = try victim.script("\(spool) serialq wait")
    expectRefusal(refused, "\(path): others can write to it (mode 777, owner 65534)")
    #expect(try scene.fileNames() == ["shared"])
    // A link to the same tree, and the one of the attacker, in a folder like /tmp.
    #expect(try scene.script("chmod 755 shared; mkdir -m 1777 sticky").code == 0)
    #expect(try attacker.script("ln -s \"$PWD/shared\" sticky/theirs").code == 0)
    #expect(try victim.script("ln -s ../shared sticky/own").code == 0)
    let link = scene.path("sticky/theirs").text
    expectRefusal(
      try victim.script("SERIALQ_DIR=\(link)/a/q serialq list"),
      "\(link): belongs to user 65533, and you are user 65534")
    let own = try victim.script("SERIALQ_DIR=$PWD/sticky/own/a/../a/q serialq list")
    #expect(own.code == 0 && own.text.contains("touch attacked"), "\(own.errorText)")
  }

  // Fails if only a spool that exists is checked: its folders would be root's, and lock the user
  // out.
  @Test(
    "root creates nothing in the home or the runtime folder of another user",
    .shows(OnDisk.strangersAreRefused), .needs(.setpriv), .needsOtherUser)
  func homeOfAnother() throws {
    _ = try OtherUser(owning: scene)
    let ssh = scene.programs.appending(path: Bytes("ssh"))
    try writeProgram(Bytes("#!/bin/sh\nexit 0\n".utf8), to: ssh)
    let home = "unset SERIALQ_DIR; HOME=$PWD XDG_RUNTIME_DIR=$PWD"
    for command in ["add --no-start true", "list"] {
      let refused = try scene.script("\(home) serialq \(command)")
      expectRefusal(refused, "\(scene.folder.path.text): belongs to user 65534 (or one ")
      #expect(refused.errorText.hasSuffix("SERIALQ_DIR to a folder of your own, or use sudo -H.\n"))
    }
    _ = try scene.script("\(home) serialq --host other list")
    #expect(try scene.fileNames() == [])
  }

  // Fails if the advice is about a path that is out of reach, or folders are created before the
  // path is too long.
  @Test(
    "the folder that blocks the spool is named, and a path that is too long is refused",
    .needs(.setpriv))
  func blocked() throws {
    if geteuid() == 0 {
      let owner = try OtherUser(owning: scene)
      for mode in ["700", "755"] {
        #expect(try scene.script("rm -rf .local; mkdir -m \(mode) .local").code == 0)
        let refused = try owner.script("unset SERIALQ_DIR; serialq add true")
        expectRefusal(refused, "\(mode == "700" ? "checking" : "creating") ")
        #expect(refused.errorText.hasSuffix("ls -ld \(scene.path(".local").text)\n"))
      }
    }
    let long = "/" + String(repeating: "long/", count: 1_000)
    let spool = try scene.serialq("add", "true") {
      $0.environment.append(Bytes("SERIALQ_DIR=\(scene.work.text)\(long)".utf8))
    }
    expectRefusal(spool, "SERIALQ_DIR: it has 5")
    #expect(try scene.script("test ! -e long").code == 0)
    let directory = try scene.serialq("add", "-C", long, "true")
    expectRefusal(directory, "the path /long/")
    #expect(directory.errorText.contains(": it has 5001 bytes, more than the system allows"))
  }

  // Fails if the arguments that the runtime reads from /proc count as given: as no command.
  @Test(
    "without /proc every command is refused", .needs(.unshare, .mount),
    .enabled(if: canMount, "needs root and a mount namespace"))
  func withoutProc() throws {
    let outcome = try scene.script("exec unshare -m sh -c 'umount -l /proc && serialq add true'")
    // A statically linked program aborts in the runtime.
    if outcome.code == 134 { return }
    expectRefusal(outcome, "reading the arguments: /proc is not mounted")
  }

  #if os(Linux)
    // Fails if the arguments that the runtime does not find count as none, or /proc as missing. It
    // finds none if a preloaded library has changed the environment before; this one hides the map
    // of the memory instead, in which the runtime looks for them.
    @Test("arguments that the runtime does not find are read from /proc", .needs(.cc))
    func hiddenArguments() throws {
      let library = try PreloadedLibrary(
        "maps",
        """
        #define _GNU_SOURCE
        #include <dlfcn.h>
        #include <stdio.h>
        #include <string.h>
        FILE *fopen(const char *path, const char *mode) {
          if (strcmp(path, "/proc/self/maps") == 0) return NULL;
          FILE *(*next)(const char *, const char *);
          *(void **)&next = dlsym(RTLD_NEXT, "fopen");
          return next(path, mode);
        }
        """)
      let preload = try library.variable(in: scene)
      let added = try scene.serialq("add", "--no-start", "--", "printf", "", "a\nb") {
        $0.environment.append(preload)
      }
      #expect(added.text == "1\n", "\(added.errorText)")
      #expect(
        try scene.queue().job(1)?.command == .arguments([Bytes("printf"), [], Bytes("a\nb")]))
    }
  #endif

  // Fails if a forbidden operation ends in a crash, or in success.
  @Test(
    "a spool that is not writable is reported, and can still be read",
    .shows(OnDisk.failuresChangeNothing),
    .needs(.setpriv), .needsOtherUser)
  func notWritable() throws {
    // Root bypasses permissions.
    let owner = try OtherUser(owning: scene)
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

  // Fails if the user has to look for the reason of an empty log.
  @Test(
    "status, wait and show say that the disk of the logs was full",
    .needs(.unshare, .mount),
    .enabled(if: canMount, "mounting a tmpfs needs root and a mount namespace"))
  func fullLogDisk() throws {
    let outcome = try inMount(
      options: "size=512k",
      """
      serialq run true
      mount -t tmpfs -o mode=700,size=16k tmpfs "$SERIALQ_DIR/default/log"
      head -c 1M /dev/zero >"$SERIALQ_DIR/default/log/fill" 2>/dev/null
      serialq add 'echo text' >ids
      serialq wait 2 2>waited; echo $?
      serialq status >status; serialq show 2 >shown; serialq log 2 2>logged
      """)
    #expect(outcome.text == "1\n", "\(outcome.errorText)")
    for name in ["waited", "status", "shown", "logged"] {
      let text = try content(scene.path(name)).text
      #expect(text.contains("output is missing in its log: its disk was full"), "\(name): \(text)")
    }
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

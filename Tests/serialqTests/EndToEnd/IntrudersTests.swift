import SerialqSystem
import TestSupport
import Testing

/// Files that others plant in a queue, and attempts to read it.
@Suite final class IntrudersTests: SceneSuite {
  private static let files = [
    "journal", "journal.new", "lock", "runner.lock", "runner.log", "hook.log", "damaged",
    "env/.new",
    "log/1", "locks/1", "locks/1.1.log", "followers.lock",
  ]
  private static let commands = [
    "list", "status", "show 1", "log 1", "report", "report --html page", "queues", "set keep 9",
    "pause", "add --no-start true",
    "cancel 2", "resume", "wait --timeout 20", "run true", "retry 1", "run", "clean --all", "run",
  ]

  /// Commands that always change the queue, so that they have to open these.
  private static let writes = ["set keep 9", "pause", "add --no-start true", "run true"]

  // Fails if one file is opened without a check of its type: a link's target is truncated or
  // written to, or opening a FIFO blocks; or if the message does not name the file.
  @Test(
    "a planted file in place of a queue's file is refused by name, and its target untouched",
    .shows(OnDisk.plantsAreRefused),
    arguments: files, ["ln -s", "ln", "mkfifo -m 600", "mkdir -m 700"])
  func planted(file: String, how: String) throws {
    let path = "\(scene.spool.text)/default/\(file)"
    try scene.add("echo one; exit 3", "echo two")
    #expect(try scene.serialq("set", "on-finish", "echo hook").code == 0)
    // So that there is a damaged line.
    #expect(try scene.script("echo nothing >>'\(scene.spool.text)/default/journal'").code == 0)
    let target = how.hasPrefix("ln") ? scene.path("precious").text : ""
    try write(Bytes("precious\n"), to: scene.path("precious"))
    let made = try scene.script("rm -f '\(path)' && \(how) \(target) '\(path)'")
    #expect(made.code == 0, "\(made.errorText)")
    // In a short run, each command for only some of the planted files.
    for (index, command) in Self.commands.enumerated() {
      guard isLong || index % (4 * ease) == (file.utf8.count + how.utf8.count) % 4 else { continue }
      let outcome = try scene.script("serialq \(command)")
      let seen = "\(command): \(outcome.code) \(outcome.errorText)"
      // 1: a job that failed, because of the planted file or by itself.
      #expect([0, 1, 3, 125].contains(outcome.code), "\(seen)")
      if ["journal", "lock"].contains(file), Self.writes.contains(command) {
        #expect(outcome.code == 125 && outcome.errorText.contains(path), "\(seen)")
      }
      // The file that the advice prints is checked first: printing a FIFO would block forever.
      if file == "damaged", how != "ln", command == "status" {
        #expect(outcome.code == 125 && outcome.errorText.contains("\(path): "), "\(seen)")
      }
      #expect(try content(scene.path("precious")) == Bytes("precious\n"), "\(seen)")
    }
  }

  // Fails if only the queue's folder is checked, and not its subfolders.
  @Test(
    "a folder of a queue that is a link, or writable by others, is refused by every command",
    .shows(OnDisk.plantsAreRefused, OnDisk.strangersAreRefused),
    arguments: ["log", "locks", "env"])
  func folders(name: String) throws {
    try scene.add("echo one")
    let path = "\(scene.spool.text)/default/\(name)"
    for (plant, fault) in [
      ("chmod 0770 '\(path)'", "others can write to it"),
      ("mkdir -m 700 away; rm -r '\(path)'; ln -s \"$PWD/away\" '\(path)'", "is a symbolic link"),
    ] {
      #expect(try scene.script(plant).code == 0)
      for command in ["list", "status", "log 1", "add true", "run", "clean", "resume"] {
        let outcome = try scene.script("serialq \(command)")
        expectRefusal(outcome, "\(path): \(fault)")
      }
      let listed = try scene.serialq("queues")
      #expect(listed.code == 125 && listed.text.contains("\(path): \(fault)"))
      #expect(listed.errorText.hasPrefix("serialq: \(path): \(fault)"))
    }
    #expect(try FileSystem.names(in: scene.path("away")).isEmpty)
  }

  // Fails if a file is trusted because its folder is the user's: it decides what runs.
  @Test(
    "a file that is writable by others, or owned by another user, is refused by name",
    .shows(OnDisk.strangersAreRefused))
  func strangers() throws {
    try scene.add("echo one")
    #expect(try scene.serialq("run").code == 0)
    var plants = [("chmod 0606", "chmod 0600", "others can write to it (mode 606)")]
    if geteuid() == 0 {
      plants.append(("chown 65534", "chown 0", "it belongs to user 65534, and you are user 0"))
    }
    for (plant, restore, fault) in plants {
      for (file, command) in [
        ("journal", "list"), ("journal", "add --no-start true"), ("lock", "add --no-start true"),
        ("log/1", "log 1"), ("runner.lock", "run true"),
      ] {
        let path = "\(scene.spool.text)/default/\(file)"
        #expect(try scene.script("\(plant) '\(path)'").code == 0)
        let outcome = try scene.script("serialq \(command)")
        #expect(outcome.code == 125 && outcome.errorText.contains("\(path): \(fault)"))
        #expect(try scene.script("\(restore) '\(path)'").code == 0)
      }
    }
  }

  // Fails if reading a log checks its link count: a user may keep logs by hard links.
  @Test("a log with a second hard link can be read")
  func linkedLog() throws {
    #expect(try scene.serialq("run", "echo one").code == 0)
    #expect(try scene.script("ln '\(scene.spool.text)/default/log/1' kept").code == 0)
    #expect(try scene.serialq("log", "1").text == "one\n")
    #expect(try scene.serialq("retry", "1").code == 0)
    #expect(try scene.serialq("run").code == 0)
    #expect(try content(scene.path("kept")) == Bytes("one\n"))
  }

  // Fails if the page is written through a link, waits for a reader of the FIFO, or makes another
  // user's file that of root.
  @Test(
    "a page is not written to a link, a FIFO or a file of another user",
    .shows(OnDisk.plantsAreRefused), .needs(.setpriv), .needsOtherUser)
  func page() throws {
    try scene.add("true")
    let planted = """
      mkdir -m 1777 sticky; echo precious >precious; cd sticky; umask 027
      ln -s ../precious link; mkfifo fifo; echo old >file; chown -h 65534 *; ln -s file own
      """
    #expect(try scene.script(planted).code == 0)
    for name in ["link", "fifo", "file", "own"] {
      let outcome = try scene.script("timeout 60 serialq report --html sticky/\(name)")
      expectRefusal(outcome, "writing sticky/\(name): it belongs to user 65534, and you are user 0")
    }
    #expect(try content(scene.path("precious")) == Bytes("precious\n"))
    #expect(try scene.script("cd sticky; stat -c '%u %a' file; cat own").text == "65534 640\nold\n")
  }

  // Fails if a hook gets the bytes of the label, which it may print on a terminal.
  @Test("a label reaches the on-finish command without control sequences")
  func label() throws {
    #expect(try scene.serialq("set", "on-finish", "printf %s \"$SERIALQ_LABEL\"").code == 0)
    #expect(try scene.serialq("add", "-n", "a\u{1B}]0;b\u{7}é", "true").code == 0)
    #expect(try scene.serialq("run").code == 0)
    #expect(try content(scene.queueFolder().hookLog).text == "a^[]0;b^Gé")
  }

  // Fails if a mode depends on the umask: 000 would let others read commands and environments, 777
  // would lock out the owner.
  @Test(
    "an ordinary user's queue has modes 0700 and 0600 with any umask, and is private",
    .shows(OnDisk.forItsUserAlone),
    .needsOtherUser,
    arguments: ["000", "022", "777"])
  func modes(umask: String) throws {
    let owner = try OtherUser(owning: scene)
    let own = try owner.script(
      """
      umask \(umask)
      serialq set on-finish 'echo hook' && serialq add --no-start 'echo one; exit 3' &&
        serialq add 'echo two' && serialq wait; serialq clean; serialq list
      """)
    #expect(own.text.contains("failed") && own.code == 0, "\(own.errorText)")
    let spool = scene.spool.text
    let found = try scene.script("find '\(spool)' -printf '%y %m %U %f\\n'").text
    let lines = found.split(separator: "\n")
    #expect(lines.count >= 10 && found.contains(" hook.log") && found.contains(" runner.log"))
    for line in lines {
      #expect(line.hasPrefix("d 700 65534 ") || line.hasPrefix("f 600 65534 "), "\(line)")
    }
    let other = OtherUser(65_533, scene)
    let tried = try other.script(
      """
      for path in '\(spool)' '\(spool)'/default '\(spool)'/default/journal '\(spool)'/default/log/1
      do
        cat "$path" 2>/dev/null; ls "$path" 2>/dev/null
        touch "$path"/planted 2>/dev/null && echo planted
        ln -s /etc/passwd "$path"/planted 2>/dev/null && echo planted
      done; echo over
      """)
    #expect(tried.text == "over\n")
    for refused in [try other.script("serialq list"), try scene.serialq("list")] {
      expectRefusal(refused, "\(scene.folder.path.text): belongs to user 65534")
    }
  }

  #if os(Linux)
    // Fails if a part of the environment is passed as an argument, or the runner keeps the
    // caller's.
    @Test(
      "no command line of a runner or a job, and no runner's environment, contains a secret",
      .shows(OnDisk.environmentsSecret))
    func processes() throws {
      let added = try scene.serialq("add", "-e", "GIVEN=hunter3", "sh", "-c", "read x <gate") {
        $0.environment.append(Bytes("TOKEN=hunter2"))
      }
      #expect(added.code == 0)
      let job = try scene.waitForProcess(of: 1)
      let runner = try scene.waitForRunner()
      for pid in try scene.processes().union([job, runner]) {
        var line = ""
        // The system returns from the spawn of a process a moment before there is one.
        try waitUntil("the command line of process \(pid)") {
          line = try content(Bytes("/proc/\(pid)/cmdline".utf8)).text
          return !line.isEmpty
        }
        #expect(!line.contains("hunter") && !line.contains("TOKEN"), "\(line)")
      }
      #expect(!(try content(Bytes("/proc/\(runner)/environ".utf8)).text.contains("hunter")))
      try gate.open()
      #expect(try scene.serialq("wait").code == 0)
    }
  #endif
}

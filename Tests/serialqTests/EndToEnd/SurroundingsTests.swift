import Foundation
import SerialqSystem
import TestSupport
import Testing

/// What a job finds around it.
@Suite struct SurroundingsTests {
  // Fails if the environment is the runner's, or goes through text.
  @Test("a job has the environment of its add, and only two variables more")
  func environment() throws {
    let scene = try Scene()
    let odd = [Bytes("ODD=a b\n'"), Bytes("RAW=") + [0xFF, 0x80], Bytes("EMPTY=")]
    let added = try scene.serialq(
      "add", "--no-start", "-e", "EMPTY=set", "-e", "NEW=a=b", "env", "-0"
    ) {
      $0.environment += odd + [Bytes("SERIALQ_JOB=99")]
    }
    #expect(added.code == 0)
    let run = try scene.serialq("run") { $0.environment.append(Bytes("RUNNER=yes")) }
    // The shell through which the test starts `serialq` exports some of its own.
    let shells = [Bytes("PWD="), Bytes("OLDPWD="), Bytes("SHLVL="), Bytes("_=")]
    let found = run.output.split(separator: 0).map { Bytes($0) }
      .filter { variable in !shells.contains { variable.starts(with: $0) } }
    let expected =
      scene.surroundings.environment + odd.dropLast()
      + [
        Bytes("EMPTY=set"), Bytes("NEW=a=b"), Bytes("SERIALQ_JOB=1"),
        Bytes("SERIALQ_QUEUE=default"),
      ]
    #expect(Set(found) == Set(expected) && found.count == expected.count)
    let shown = try scene.serialq("show", "--env", "1").output.split(separator: UInt8(ascii: "\n"))
    #expect(shown.contains { Bytes($0) == Bytes("RAW=") + [0xFF, 0x80] })
  }

  // Fails if a command other than `show --env` lets the environment out.
  @Test(
    "what may be secret is printed by nothing but show --env", .shows(OnDisk.environmentsSecret))
  func secrets() throws {
    let scene = try Scene()
    _ = try scene.serialq("add", "--no-start", "-e", "TOKEN=hunter2", "true")
    _ = try scene.serialq("run", "false")
    for words in [
      ["list"], ["list", "--json"], ["status"], ["status", "--json"], ["show", "1"],
      ["show", "--json", "1"], ["report"], ["report", "--html", "-"],
    ] {
      let outcome = try scene.serialq(words.map { Bytes($0.utf8) })
      #expect(!outcome.text.contains("hunter2") && !outcome.errorText.contains("hunter2"))
    }
    #expect(!(try scene.journal()).text.contains("hunter2"))
    #expect(try scene.serialq("show", "--env", "1").text.contains("TOKEN=hunter2\n"))
  }

  // Fails if the directory or the umask is that of the runner, or the spool is made by the umask.
  @Test("a job has the directory and the umask of its add")
  func directoryAndUmask() throws {
    let scene = try Scene()
    _ = try FileSystem.makeFolder(scene.path("sub"))
    _ = try FileSystem.makeFolder(scene.path("elsewhere"))
    let line = "pwd; umask; echo x >made; stat -c %a made 2>/dev/null || stat -f %Lp made"
    let added = try scene.serialq("add", "--no-start", line) {
      $0.directory = scene.path("sub")
      $0.prelude = "umask 027"
    }
    #expect(added.code == 0)
    #expect(try scene.serialq("add", "--no-start", "-C", "sub", "pwd").code == 0)
    let run = try scene.serialq("run") {
      $0.directory = scene.path("elsewhere")
      $0.prelude = "umask 0"
    }
    let sub = scene.path("sub").text
    #expect(run.text == "\(sub)\n0027\n640\n\(sub)\n")
    let find = "find '\(scene.spool.text)' -perm /077"
    #expect(try scene.script(find).text == "")
  }

  // Fails if the job reads what the caller reads: in a loop it would eat the loop's input.
  @Test("a job has nothing to read, and leaves the caller's input alone")
  func input() throws {
    let scene = try Scene()
    let loop = """
      printf '%s\\n' a b c | while read word; do serialq add --no-start "echo $word; cat"; done
      printf '%s\\n' x y | { serialq run; cat; }
      """
    #expect(try scene.script(loop).text == "1\n2\n3\na\nb\nc\nx\ny\n")
  }

  #if os(Linux)
    // Fails if what serialq was started with, or opens itself, goes on to the job.
    @Test("a job has no descriptor but 0, 1, 2 and its lock")
    func descriptors() throws {
      let scene = try Scene()
      let extra: [Int32] = [5, 9, 62, 63, 64, 100]
      let words = ["run", "--", "ls", "/proc/self/fd"]
      let run = try scene.serialq(words.map { Bytes($0.utf8) }) { $0.extraDescriptors = extra }
      // 3 is the folder that `ls` reads.
      #expect(run.text.split(separator: "\n") == ["0", "1", "2", "3", "63"])
      let zero = try scene.serialq("run", "--", "readlink", "/proc/self/fd/0") {
        $0.input = Bytes("input")
      }
      #expect(zero.text == "/dev/null\n")
    }

    // Fails if the job shares the runner's group, where the terminal's Ctrl-C would hit it first.
    @Test("a job leads a process group of its own")
    func processGroup() throws {
      let scene = try Scene()
      let run = try scene.start("run", "--", "cat", "/proc/self/stat")
      let fields = try run.wait().text.split(separator: " ")
      #expect(fields[0] == fields[4])
      #expect(fields[4] != "\(run.pid)")
    }
  #endif

  // Fails if the log is written through the runner: what comes after its death would be lost.
  @Test("output written after the runner's death is in the log")
  func logOutlivesRunner() throws {
    let scene = try Scene()
    let gate = try Gate(scene)
    try scene.add("echo before; read x <gate; echo after; echo error >&2")
    let run = try scene.start("run")
    try run.waitForOutput("before")
    run.send(9)
    _ = try run.wait()
    try gate.open()
    try scene.waitForLog(1, "error")
    #expect(try scene.serialq("log", "1").text == "before\nafter\nerror\n")
  }
}

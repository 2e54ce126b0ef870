@testable import SerialqCLI
import SerialqSystem
import TestSupport
import Testing

/// The environment in which a job runs.
@Suite final class JobEnvironmentTests: SceneSuite {
  // Fails if the environment is the runner's, or is converted to text.
  @Test("a job has the environment of its add, and two more variables")
  func environment() throws {
    let odd = [Bytes("ODD=a b\n'"), Bytes("RAW=") + [0xFF, 0x80], Bytes("EMPTY=")]
    let added = try scene.serialq(
      "add", "--no-start", "-e", "EMPTY=set", "-e", "NEW=a=b", "env", "-0"
    ) {
      $0.environment += odd + [Bytes("SERIALQ_JOB=99")]
    }
    #expect(added.code == 0)
    let run = try scene.serialq("run") { $0.environment.append(Bytes("RUNNER=yes")) }
    // The shell through which the test starts `serialq` exports some variables of its own.
    let shells = [Bytes("PWD="), Bytes("OLDPWD="), Bytes("SHLVL="), Bytes("_=")]
    let found = run.output.split(separator: 0).map { Bytes($0) }
      .filter { variable in !shells.contains { variable.starts(with: $0) } }
    let expected =
      scene.launchOptions.environment + odd.dropLast()
      + [
        Bytes("EMPTY=set"), Bytes("NEW=a=b"), Bytes("SERIALQ_JOB=1"),
        Bytes("SERIALQ_QUEUE=default"),
      ]
    #expect(Set(found) == Set(expected) && found.count == expected.count)
    let shown = try scene.serialq("show", "--env", "1").output.split(separator: UInt8(ascii: "\n"))
    #expect(shown.contains { Bytes($0) == Bytes("RAW=") + [0xFF, 0x80] })
  }

  // Fails if a command other than `show --env` prints the environment.
  @Test(
    "only show --env prints the environment, which may contain secrets",
    .shows(OnDisk.environmentsSecret))
  func secrets() throws {
    _ = try scene.serialq("add", "--no-start", "-e", "TOKEN=hunter2", "true")
    _ = try scene.serialq("run", "false")
    for words in [
      ["list"], ["list", "--json"], ["status"], ["status", "--json"], ["show", "1"],
      ["show", "--json", "1"], ["report"], ["report", "--html", "-"],
    ] {
      let outcome = try scene.serialq(words)
      #expect(!outcome.text.contains("hunter2") && !outcome.errorText.contains("hunter2"))
    }
    #expect(!(try scene.journal()).text.contains("hunter2"))
    #expect(try scene.serialq("show", "--env", "1").text.contains("TOKEN=hunter2\n"))
  }

  // Fails if the directory or the umask is that of the runner, or the umask affects the spool.
  @Test("a job has the directory and the umask of its add")
  func directoryAndUmask() throws {
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

  // Fails if the manual is wrong about what a job does not get, or about what to write instead.
  @Test("limits and priority of a job are not those of its add, but can be set in the command")
  func limits() throws {
    #expect(try scene.serialq("add", "read x <gate").code == 0)
    _ = try scene.waitForRunner()
    func add(_ words: String...) throws {
      let added = try scene.serialq(["add"] + words) {
        $0.prelude = "ulimit -n 200"
      }
      #expect(added.code == 0)
    }
    try add("ulimit -n")
    try add("nice")
    try add("nice", "-n", "3", "nice")
    try add("ulimit -n 150; exec sh -c 'ulimit -n'")
    try gate.open()
    #expect(try scene.serialq("wait").code == 0)
    let printed = try (2...5).map { Int(try scene.log($0).text.dropLast()) ?? -1 }
    #expect(printed[0] > 200)
    #expect(printed[2] == min(19, printed[1] + 3))
    #expect(printed[3] == 150)
    for line in ["nice -n 10 make", "'ulimit -t 600; exec make'", "taskset -c 0 make"] {
      #expect(try Manual.text.contains(".Dl serialq add \(line)\n"))
    }
  }

  #if os(Linux)
    // Fails if the job inherits a descriptor of serialq's parent, or of serialq itself.
    @Test("a job has no descriptor except 0, 1, 2 and its lock")
    func descriptors() throws {
      let extra: [Int32] = [5, 9, 62, 63, 64, 100]
      let words = ["run", "--", "ls", "/proc/self/fd"]
      let run = try scene.serialq(words) { $0.extraDescriptors = extra }
      // 3 is the folder that `ls` reads.
      #expect(run.text.split(separator: "\n") == ["0", "1", "2", "3", "63"])
      let zero = try scene.serialq("run", "--", "readlink", "/proc/self/fd/0") {
        $0.input = Bytes("input")
      }
      #expect(zero.text == "/dev/null\n")
    }

  #endif
}

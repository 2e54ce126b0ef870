import SerialqQueue
import SerialqSystem
import Testing

@testable import SerialqRunner

extension SpawnTests {
  /// The search for programs, and the reasons reported when one cannot run.
  @Suite struct Search {
    // Fails if an empty entry is skipped, or a name with a slash is searched for.
    @Test("candidates follow the job's PATH")
    func candidates() {
      func paths(_ name: StaticString, _ environment: StaticString...) -> [String] {
        ProgramSearch.candidates(for: Bytes(name), environment: environment.map { Bytes($0) })
          .map(\.text)
      }
      #expect(paths("x", "A=1", "PATH=/a:b", "PATH=/c") == ["/a/x", "b/x"])
      #expect(paths("x", "PATH=:/a:") == ["x", "/a/x", "x"])
      #expect(paths("x", "PATH=") == ["x"])
      #expect(paths("x", "XPATH=/a") == ["/bin/x", "/usr/bin/x"])
      #expect(paths("./x", "PATH=/a") == ["./x"])
      #expect(paths("", "PATH=/a") == [])
    }

    // Fails if the runner's PATH or directory is used: neither contains the program.
    @Test("a program is searched for from the job's directory, along its PATH")
    func relative() throws {
      for (path, name) in [("nowhere:bin", "tool"), ("bin", "bin/tool"), ("bin", "./bin/tool")] {
        var job = try TestJob()
        try job.addFile("bin/tool", "#!/bin/sh\necho \"$0\"\n", mode: 0o755)
        job.process.environment = [Bytes("PATH=\(path)".utf8)]
        job.process.command = .arguments([Bytes(name.utf8)])
        #expect(try job.run() == .exited(0))
        #expect(try job.output().text == (name == "tool" ? "bin/tool\n" : "\(name)\n"))
      }
    }

    // Fails if "permission denied" ends the search.
    @Test("a file that is not executable is skipped")
    func passedOver() throws {
      var job = try TestJob()
      try job.addFile("a/tool", "#!/bin/sh\nexit 1\n", mode: 0o644)
      try job.addFile("b/tool", "#!/bin/sh\nexit 7\n", mode: 0o755)
      job.process.environment = [Bytes("PATH=a:b")]
      job.process.command = .arguments([Bytes("tool")])
      #expect(try job.run() == .exited(7))
    }

    // Fails if ENOEXEC is an error: env(1) and every shell run such a script.
    @Test("a script without an interpreter line is run by sh")
    func withoutInterpreter() throws {
      var job = try TestJob()
      try job.addFile("tool", "echo \"$0\" \"$@\"\n", mode: 0o755)
      job.process.command = .arguments([Bytes("./tool"), Bytes("a b")])
      #expect(try job.run() == .exited(0))
      #expect(try job.output() == Bytes("./tool a b\n"))
    }

    /// How a job ends whose process cannot be started; nil if it can.
    private func failure(of process: JobProcess) -> Ending? {
      do throws(Failure) {
        _ = try process.start()
        return nil
      } catch {
        return Ending(error)
      }
    }

    // Fails if two errors are confused. Each is also tried with env(1), where env knows it.
    @Test("a command that cannot run reports the reason, with the code of env")
    func cannotRun() throws {
      let cases: [(String, ExitCode, String)] = [
        ("nowhere-to-be-found", .notFound, "nowhere-to-be-found: not found"),
        ("./missing", .notFound, "./missing: not found"),
        ("locked", .cannotExecute, "locked: Permission denied"),
        ("./locked", .cannotExecute, "./locked: Permission denied"),
        ("./bin", .cannotExecute, "./bin: Permission denied"),
        ("./orphan", .notFound, "./orphan: its interpreter was not found"),
        ("./a\u{1B}", .notFound, "./a^[: not found"),
        ("./locked/x", .notFound, "./locked/x: not found"),
      ]
      for (name, code, reason) in cases {
        var job = try TestJob()
        try job.addFile("locked", "#!/bin/sh\n", mode: 0o644)
        try job.addFile("orphan", "#!/no/such/interpreter\n", mode: 0o755)
        try job.addFile("bin/x", "", mode: 0o644)
        job.process.environment = [Bytes("PATH=/nowhere::/usr/bin:/bin")]
        job.process.command = .arguments([Bytes(name.utf8)])
        #expect(
          failure(of: job.process) == Ending.cannotRun(code.rawValue, reason: Bytes(reason.utf8)))
        job.process.command = .arguments([Bytes("env"), Bytes(name.utf8)])
        let status = try job.run()
        // For a path that leads through a file, env(1) exits with 126; shells and serialq use 127.
        if name != "./locked/x" { #expect(status == .exited(code.rawValue), "\(name)") }
      }
    }

    // Fails if the directory's error is reported as the program's, or a long list as "not found".
    @Test("a missing directory, NUL and oversized arguments have their own reasons")
    func ownReasons() throws {
      var job = try TestJob()
      job.process.command = .arguments([Bytes("x"), Bytes(repeating: 0x61, count: 10_000_000)])
      job.process.environment = [Bytes("PATH=/bin")]
      try job.addFile("x", "#!/bin/sh\n", mode: 0o755)
      job.process.environment = [Bytes("PATH=")]
      #expect(
        failure(of: job.process)
          == .cannotRun(126, reason: Bytes("x: Argument list too long"))
      )
      job.process.command = .shell(Bytes("a\0b"))
      #expect(
        failure(of: job.process)
          == .cannotRun(
            125,
            reason: Bytes("cannot start a process: a NUL byte cannot be passed to a program"))
      )
      job.process.command = .shell(Bytes("true"))
      for (directory, why) in [
        ("/no/such", "No such file or directory"), ("/bin/sh", "Not a directory"),
      ] {
        job.process.directory = Bytes(directory.utf8)
        #expect(
          failure(of: job.process)
            == .cannotRun(125, reason: Bytes("directory \(directory): \(why)".utf8))
        )
      }
    }
  }
}

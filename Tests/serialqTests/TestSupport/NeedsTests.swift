import SerialqSystem
import TestSupport
import Testing

/// Tests that need tools, on machines without those tools.
@Suite struct NeedsTests {
  // Fails if any existing path counts as a program: try `access` alone, which root passes for a
  // folder, or `F_OK`.
  @Test("only an executable regular file is a program")
  func files() throws {
    let folder = try TemporaryFolder()
    #expect(Tool.jq.path(in: []) == nil)
    #expect(Tool.jq.path(in: [folder.path.text]) == nil)
    for (name, make) in [
      ("empty", "mkdir jq"), ("plain", ": >jq"), ("hidden", "ln -s /dev/null jq"),
      ("dangling", "ln -s nowhere jq"),
    ] {
      let path = folder.path(name).text
      let script = "mkdir '\(path)' && cd '\(path)' && \(make)"
      _ = try RealShell.output(of: Bytes(script.utf8), in: "/bin/sh")
      #expect(try FileSystem.names(in: Bytes(path.utf8)) == [Bytes("jq")])
      #expect(Tool.jq.path(in: [path]) == nil, "\(name)")
    }
    let file = folder.path("jq")
    try writeProgram(Bytes("#!/bin/sh\n"), to: file)
    #expect(Tool.jq.path(in: [folder.path("plain").text, folder.path.text]) == file.text)
  }

  // Fails if a missing tool or its package is not named, or an installed one is.
  @Test("the reason names every missing tool, and each package once")
  func reason() throws {
    #expect(MissingTools(of: []) == nil)
    #expect(
      MissingTools(of: [.zsh], in: [])?.description
        == "needs zsh, which is not installed: apt-get install zsh")
    #expect(
      MissingTools(of: [.flock, .setsid], in: [])?.description
        == "needs flock and setsid, which are not installed: apt-get install util-linux")
    #expect(
      MissingTools(of: [.tmux, .bash, .cc], in: [])?.description
        == "needs tmux, bash and cc, which are not installed: apt-get install tmux bash gcc")
    let folder = try TemporaryFolder()
    try writeProgram(Bytes("#!/bin/sh\n"), to: folder.path("tmux"))
    #expect(
      MissingTools(of: [.tmux, .zsh], in: [folder.path.text])?.description
        == "needs zsh, which is not installed: apt-get install zsh")
    #expect(MissingTools(of: [.tmux], in: [folder.path.text]) == nil)
  }

  // Fails if a test runs without its tools, or is skipped where they are demanded.
  @Test("a test whose tools are missing is skipped, and fails where they are demanded")
  func bothModes() async throws {
    let missing = try #require(MissingTools(of: [.zsh], in: []))
    let skipping = ConditionTrait.needs(missing, isDemanded: false)
    #expect(try await skipping.evaluate() == false)
    #expect(skipping.comments.map(\.rawValue) == [missing.description])
    await #expect(throws: MissingTools.self) {
      try await ConditionTrait.needs(missing, isDemanded: true).evaluate()
    }
    for isDemanded in [false, true] {
      #expect(try await ConditionTrait.needs(nil, isDemanded: isDemanded).evaluate())
    }
  }
}

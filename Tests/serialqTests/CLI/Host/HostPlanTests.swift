import SerialqQueue
import SerialqSystem
import Testing

@testable import SerialqCLI

/// How commands are carried out on another machine, and what a lost connection means for them.
@Suite struct HostPlanTests {
  private func plan(_ words: String...) throws -> HostPlan? {
    HostPlan(try Invocation.parse(words.map { Bytes($0.utf8) }))
  }

  // Fails if a command that changes something is repeated after it may have been carried out.
  @Test("a command that is not repeated safely is not repeated")
  func again() throws {
    let alike = [["add", "x"], ["add", "-f", "-"]]
    let always = [["wait"], ["attach"], ["-w"]]
    let ifSilent = [["run"], [], ["list"], ["show", "1"], ["log", "-f"], ["queues"], ["report"]]
    let never = [
      ["cancel", "1"], ["retry", "1"], ["move", "1", "--first"], ["edit", "1"],
      ["set", "keep", "1"],
      ["ack", "--all"], ["pause"], ["resume"], ["start"], ["clean", "--all"],
    ]
    for (words, expected) in always.map({ ($0, HostPlan.Again.always) })
      + alike.map({ ($0, .alike) }) + ifSilent.map({ ($0, .ifSilent) })
      + never.map({ ($0, .never) })
    {
      let plan = HostPlan(try Invocation.parse(words.map { Bytes($0.utf8) }))
      #expect(plan?.again == expected, "\(words)")
      let isHarmless = expected == .always || expected == .alike
      #expect(plan?.beginsAgain(wasAnswered: true, hasPrinted: true) == isHarmless)
      #expect(plan?.beginsAgain(wasAnswered: true, hasPrinted: false) == (expected != .never))
      #expect(plan?.beginsAgain(wasAnswered: false, hasPrinted: false) == true)
    }
  }

  // Fails if keys or input are read although the command does not read them: the next command of a
  // script would miss them.
  @Test("only a command that reads standard input gets it")
  func input() throws {
    let all = [
      try plan("add", "-f", "-"), try plan("add", "-i", "-", "x"), try plan("run", "-f", "-"),
    ]
    #expect(all.allSatisfy { $0?.input == .all })
    let keys = [try plan("attach"), try plan("run", "-t", "x"), try plan("edit", "1")]
    #expect(keys.allSatisfy { $0?.input == .keys })
    let none = [
      try plan("add", "x"), try plan("add", "-t", "x"), try plan("wait"),
      try plan("edit", "1", "x"),
      try plan("add", "-f", "jobs"), try plan("run"),
    ]
    #expect(none.allSatisfy { $0?.input == HostCall.Input.none })
  }

  // Fails if they need a connection.
  @Test("help, versions and completion are of this machine")
  func local() throws {
    #expect(try plan("help") == nil && plan("add", "--help") == nil)
    #expect(try plan("--version") == nil && plan("completion", "bash") == nil)
  }

  // Fails if a machine that cannot be reached is called again and again, or one that was reached is
  // given up.
  @Test("a lost connection is tried again at once, then after growing pauses, for ten minutes")
  func pauses() {
    let second: Int64 = 1_000_000_000
    var reconnection = Reconnection()
    var now: Int64 = 0
    var pauses: [Int64] = []
    while let next = reconnection.next(after: now, wasAnswered: true) {
      pauses.append((next - now) / second)
      now = next
    }
    #expect(pauses.prefix(7) == [0, 1, 2, 4, 8, 15, 15])
    #expect(now <= 600 * second && now > 570 * second)
    reconnection.succeed()
    #expect(reconnection.next(after: now, wasAnswered: true) == now)
    var unanswered = Reconnection()
    var count = 0
    while unanswered.next(after: 0, wasAnswered: false) != nil { count += 1 }
    #expect(count == 7)
  }

  // Fails if a message misleads: each end of ssh has its cause.
  @Test("the end of ssh says why there was no answer")
  func causes() {
    let expected: [(Ending, String, HostFailure.Cause)] = [
      (.exited(255), "ssh: Could not resolve hostname x", .unreachable(isFinal: true)),
      (.exited(255), "x: Permission denied (publickey).", .unreachable(isFinal: true)),
      (.exited(255), "mux_client_request_session: Broken pipe", .unreachable(isFinal: false)),
      (.exited(255), "", .unreachable(isFinal: false)),
      (.killed(9), "", .unreachable(isFinal: false)),
      (.exited(127), "sh: serialq: not found", .missing), (.exited(1), "", .missing),
      (.exited(126), "", .cannotExecute), (.exited(125), "", .older), (.exited(0), "", .other),
    ]
    for (ending, text, cause) in expected {
      #expect(HostFailure.cause(ending, Bytes(text.utf8)) == cause, "\(ending) \(text)")
    }
  }

  // Fails if ssh cannot bind the socket, or reads the path otherwise.
  @Test("a connection is kept where the path of its socket is short and plain")
  func socketPath() {
    func path(_ folder: String?) -> String? {
      SSH.options(sharing: folder.map { Bytes($0.utf8) }).map(\.text)
        .first { $0.hasPrefix("ControlPath") }
    }
    #expect(path("/run/user/1/serialq") == "ControlPath=/run/user/1/serialq/%C")
    #expect(path(nil) == nil && path("/a b") == nil && path("/a%b") == nil)
    #expect(path("/" + String(repeating: "x", count: 44)) != nil)
    #expect(path("/" + String(repeating: "x", count: 45)) == nil)
  }
}

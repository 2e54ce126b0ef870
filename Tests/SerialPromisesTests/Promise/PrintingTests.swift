import TestSupport
import Testing

@testable import SerialPromises

/// Promises, steps and managers as text.
struct PrintingTests {
  // Fails if printing starts a promise, or the printed state is wrong.
  @Test("printing a promise shows its name and state, and does not start it")
  func promises() async {
    let begun = Log<Int>()
    let cold = Promise<Int>("page", diagnostics: .silent) { resolve, _ in
      begun.append(1)
      resolve(42)
    }
    #expect("\(cold)" == "promise \"page\" (not started)")
    #expect("\(cold.map { $0 })" == "promise \"page\" (not started)")
    #expect(begun.count == 0)
    #expect(await cold.outcome == "42")
    #expect("\(cold)" == "promise \"page\" (fulfilled: 42)")
    let deferred = Deferred<String>("answer", diagnostics: .silent)
    #expect("\(deferred) \(deferred.promise)".hasSuffix("promise \"answer\" (pending)"))
    deferred.fail(Failed(number: 3))
    #expect("\(deferred)" == "promise \"answer\" (failed: Failed(number: 3))")
    let unnamed = "\(Promise.value(1))"
    #expect(unnamed.hasPrefix("the promise made at SerialPromisesTests/PrintingTests.swift:"))
    #expect(unnamed.hasSuffix(" (fulfilled: 1)"))
  }

  // Fails if printing counts as handling the failure.
  @Test("a failure that was only printed is still reported")
  func unhandled() async {
    let (reports, gate) = (Log<Diagnostic>(), Gate())
    let diagnostics = DiagnosticHandler {
      reports.append($0)
      gate.open()
    }
    do {
      let deferred = Deferred<Int>("answer", diagnostics: diagnostics)
      deferred.fail(Failed())
      #expect("\(deferred)" == "promise \"answer\" (failed: Failed(number: 0))")
    }
    await gate.passed()
    #expect("\(reports.all)".contains("answer"))
  }

  // Fails if a state, a name or a reason is missing.
  @Test("printing a handle or a manager shows its name, state and reason")
  func steps() async {
    let manager = PromiseManager(onFailure: .stop, diagnostics: .silent)
    #expect("\(manager)" == "PromiseManager (nothing runs, 0 wait)")
    manager.pause()
    let (first, entered) = (Locked<Then?>(nil), Gate())
    let upload = manager.add(
      Step("upload") { then in
        first.withLock { $0 = then }
        entered.open()
      })
    let last = manager.add { then in then() }
    #expect("\(upload)" == "step \"upload\" (waiting)")
    #expect("\(manager)" == "PromiseManager (nothing runs, 2 wait, paused)")
    onOwnThread { manager.resume() }
    await entered.passed()
    #expect("\(upload)" == "step \"upload\" (running)")
    #expect("\(manager)" == "PromiseManager (step \"upload\" runs, 1 wait)")
    onOwnThread { first.withLock { $0.take() }?(Failed()) }
    #expect("\(await upload.outcome)" == "failed: Failed(number: 0)")
    #expect("\(upload)" == "step \"upload\" (failed: Failed(number: 0))")
    manager.close()
    #expect(
      "\(manager)"
        == "PromiseManager (nothing runs, 1 wait, stopped: Failed(number: 0), closed)")
    last.cancel()
    #expect("\(last)" == "step 2 (cancelled)")
  }
}

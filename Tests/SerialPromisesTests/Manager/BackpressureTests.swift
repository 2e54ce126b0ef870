import TestSupport
import Testing

@testable import SerialPromises

/// Capacity, backpressure and closing.
struct BackpressureTests {
  // Fails if the running step counts, or a refused step is run, counted or not reported.
  @Test("a step beyond the capacity is refused, reported and never run", .shows(Managing.capacity))
  func full() async {
    let (reports, taken, log) = (Reports(), Taken(), Log<Int>())
    let manager = PromiseManager(capacity: 2, diagnostics: reports.place)
    manager.add(taken.handler)
    for number in 1...2 {
      manager.add(log.appending(number))
    }
    let refused = manager.add(Step("third") { _ in log.append(3) })
    let error = PromiseError.full(capacity: 2)
    #expect((refused.id, refused.name ?? "") == (0, "third"))
    #expect(text(await refused.outcome) == "failed \(error)")
    #expect(reports.all == [.refused(error)])
    refused.cancel()
    #expect(text(refused.state) == "failed \(error)")
    taken.call()
    #expect(log.all == [1, 2])
    #expect(manager.progress == 1)
    #expect(text(manager.add { then in then() }.state) == "succeeded")
  }

  // Fails if suspended callers are not resumed when there is room, or too early, or in another
  // order.
  @Test("addWhenRoom waits for room and keeps the order of addition", .shows(Managing.capacity))
  func parked() async throws {
    let (manager, log, notified) = (PromiseManager(capacity: 1), Log<Int>(), Log<Int>())
    let taken = (0...4).map { _ in Taken() }
    manager.add(taken[0].handler)
    var adders: [Task<StepHandle, any Error>] = []
    for number in 1...4 {
      adders.append(
        Task {
          let handle = try await manager.addWhenRoom("\(number)") { then in
            log.append(number)
            taken[number].handler(then)
          }
          notified.append(number)
          return handle
        })
      await manager.waiting(number)
    }
    #expect(try await adders[0].value.id == 2)
    #expect(manager.order.withLock { $0.line.backpressure.parked } == 3)
    for number in 0...3 {
      #expect(notified.all.allSatisfy { $0 <= number + 1 })
      taken[number].call()
      await taken[number + 1].gate.passed()
      #expect(manager.order.withLock { $0.line.backpressure.parked } == max(0, 2 - number))
    }
    taken[4].call()
    for (index, adder) in adders.enumerated() { #expect(try await adder.value.id == index + 2) }
    #expect(log.all == [1, 2, 3, 4])
  }

  // Fails if the promise is not reserved when its caller is suspended: it begins during the running
  // step.
  @Test(
    "a promise whose caller waits for room keeps its turn, and the caller returns when there is room"
  )
  @MainActor
  func parkedPromise() async throws {
    let (manager, taken, log) = (PromiseManager(capacity: 1), Taken(), Log<String>())
    manager.add(taken.handler)
    let promises = ["a", "b"].map { name in
      Promise(name) {
        log.append(name)
        return name
      }
    }
    #expect(try await manager.addWhenRoom(promises[0]).name == "a")
    // Runs on this actor, which it leaves when the promise is reserved.
    let adder = Task { @MainActor in
      let handle = try await manager.addWhenRoom(promises[1])
      log.append("room")
      return handle
    }
    await manager.waiting(2)
    promises[1].start()
    promises[0].start()
    #expect(log.all.isEmpty)
    taken.call()
    let handle = try await adder.value
    #expect(text(await handle.outcome) == "succeeded")
    #expect(try await promises[1].value == "b")
    #expect(Set(log.all) == ["a", "b", "room"] && log.all.first != "b")
  }

  // Fails if a refusal cancels the promise; hangs if the promise waits for a turn that never comes.
  @Test("a promise that addWhenRoom refuses is unchanged")
  func refusedPromise() async throws {
    let manager = PromiseManager(capacity: 1)
    let (first, second) = (Promise { 1 }, Promise { 2 })
    let third = Promise { 3 }
    let inside = Promise {
      manager.enqueue {}
      do {
        _ = try await manager.addWhenRoom(first)
        return ""
      } catch {
        return "\(error)"
      }
    }
    manager.add(inside)
    #expect(try await inside.value.contains("waits for its own manager"))
    manager.close()
    await #expect(throws: PromiseError.closed) { try await manager.addWhenRoom(second) }
    let cancelled = canceledTask { try await manager.addWhenRoom(third) }
    await #expect(throws: CancellationError.self) { try await cancelled.value }
    #expect(try await first.value + second.value + third.value == 6)
  }

  // Fails if a closed manager accepts steps, drops those it has, or does not report that it is
  // closed; or if a refused step gets a segment.
  @Test("a closed manager refuses new steps and runs the ones it has", .shows(Managing.close))
  func close() async {
    let (reports, taken) = (Reports(), Taken())
    let manager = PromiseManager(diagnostics: reports.place)
    manager.add(taken.handler)
    let waiting = manager.add { then in then() }
    #expect(!manager.isClosed)
    manager.close()
    #expect(manager.isClosed)
    let refused = manager.add("late") { _ in Issue.record("it ran") }
    #expect(text(refused.state) == "failed \(PromiseError.closed)")
    #expect(refused.record.segment == nil && refused.name == "late" && refused.id == 0)
    #expect(!refused.move(to: .first))
    #expect(reports.all == [.refused(.closed)])
    await #expect(throws: PromiseError.closed) {
      try await manager.addWhenRoom { then in then() }
    }
    taken.call()
    #expect(text(waiting.state) == "succeeded")
  }

  // Fails if canceling the caller reaches a step for which there was room: the caller would get the
  // handle of a canceled step.
  @Test("a caller that is canceled after room was granted has added its step")
  func canceledWithRoom() async throws {
    let (manager, log, ready) = (PromiseManager(capacity: 1), Log<Bool>(), Gate())
    let adder = Log<Task<StepHandle, any Error>>()
    adder.append(
      Task {
        await ready.passed()
        return try await manager.addWhenRoom { then in
          adder.last?.cancel()
          log.append(then.isCancelled)
          then()
        }
      })
    ready.open()
    #expect(text(await (try adder.all[0].value).outcome) == "succeeded")
    #expect(log.all == [false])
  }
}

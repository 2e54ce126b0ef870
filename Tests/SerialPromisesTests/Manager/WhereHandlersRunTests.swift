import Dispatch
import TestSupport
import Testing

@testable import SerialPromises

/// Threads, queues, and how long a thread is held.
struct WhereHandlersRunTests {
  // Fails if `add` hands the first step to a queue.
  @Test("a handler runs on the thread that adds to an idle manager", .shows(Managing.thread))
  func adder() {
    let (manager, log) = (PromiseManager(), Log<UInt>())
    let adder = currentThread()
    manager.add { then in
      log.append(currentThread())
      then()
    }
    #expect(log.all == [adder])
  }

  // Fails if `then` hands the next step to a queue.
  @Test("a handler runs on the thread that calls the then before it", .shows(Managing.thread))
  func caller() {
    let (manager, taken, log) = (PromiseManager(), Taken(), Log<UInt>())
    let caller = Log<UInt>()
    manager.add(taken.handler)
    manager.add { then in
      log.append(currentThread())
      then()
    }
    onThread {
      caller.append(currentThread())
      taken.call()
    }
    #expect(log.all == caller.all)
    #expect(log.all != [currentThread()])
  }

  // Fails if `resume` hands the waiting steps to a queue.
  @Test("waiting handlers run on the thread that resumes", .shows(Managing.thread))
  func resumer() {
    let (manager, log, resumer) = (PromiseManager(), Log<UInt>(), Log<UInt>())
    manager.pause()
    for _ in 1...3 {
      manager.add { then in
        log.append(currentThread())
        then()
      }
    }
    onThread {
      resumer.append(currentThread())
      manager.resume()
    }
    #expect(log.all == Array(repeating: resumer.last ?? 0, count: 3))
  }

  // Fails if a turn begins outside the queue: on adding, on `then`, or when a turn hands over.
  @Test(
    "with on:, handlers run on that queue, whoever adds or calls then", .shows(Managing.onQueue))
  func onQueue() async {
    let key = DispatchSpecificKey<String>()
    let queue = DispatchQueue(label: "steps")
    queue.setSpecific(key: key, value: "steps")
    let (manager, log) = (PromiseManager(on: queue), Log<String?>())
    manager.pause()
    // More than the 128 that one turn runs.
    for index in 0..<500 {
      manager.add { then in
        log.append(DispatchQueue.getSpecific(key: key))
        if index.isMultiple(of: 50) { Task { then() } } else { then() }
      }
    }
    manager.resume()
    await manager.idle()
    #expect(log.count == 500)
    #expect(Set(log.all) == ["steps"])
  }

  // Fails (traps) if `on:` is ignored: both `add` and `then` come from elsewhere.
  @Test("with on: .main, handlers run on the main actor", .shows(Managing.onQueue))
  func onMain() async {
    let (manager, log) = (PromiseManager(on: .main), Log<Int>())
    for number in 1...3 {
      manager.add { then in
        MainActor.assumeIsolated { log.append(number) }
        Task.detached { then() }
      }
    }
    await manager.idle()
    #expect(log.all == [1, 2, 3])
  }

  // Fails (hangs) if the turn of the adding thread has no bound.
  @Test("a step that adds itself for ever does not hold the adding thread", .shows(Managing.drain))
  func endless() async {
    let (manager, log, stop) = (PromiseManager(), Log<UInt>(), Gate())
    let count = Locked(0)
    @Sendable func step(_ then: Then) {
      let number = count.withLock { count in
        count += 1
        return count
      }
      if number == 1 || number.isMultiple(of: 1000) { log.append(currentThread()) }
      if !stop.isOpen { manager.add(step) }
      then()
    }
    let adder = Log<UInt>()
    onThread {
      adder.append(currentThread())
      manager.add(step)
    }
    // `add` has returned, and the steps go on.
    #expect(!stop.isOpen)
    let before = count.withLock { $0 }
    #expect(before >= 1025)
    stop.open()
    await manager.idle()
    #expect(log.all.first == adder.last)
  }

  // Fails if what waits when the turn begins does not count beside the 1,024 more.
  @Test("a thread runs what was waiting when its turn began and 1,024 more", .shows(Managing.drain))
  func bound() async {
    let (manager, threads) = (PromiseManager(), Log<UInt>())
    let waiting = 300
    let more = Locked(2000)
    @Sendable func extra(_ then: Then) {
      threads.append(currentThread())
      let goesOn = more.withLock { more in
        more -= 1
        return more > 0
      }
      if goesOn { manager.add(extra) }
      then()
    }
    manager.pause()
    for _ in 1..<waiting {
      manager.add { then in
        threads.append(currentThread())
        then()
      }
    }
    manager.add(extra)
    let resumer = Log<UInt>()
    onThread {
      resumer.append(currentThread())
      manager.resume()
    }
    await manager.idle()
    let held = threads.all.prefix { $0 == resumer.last }.count
    #expect(held >= waiting + 1024)
    #expect(threads.all.count == waiting - 1 + 2000)
    // A thread's number may be given to another after its end, so only the first stretch counts.
    #expect(held < threads.all.count)
  }
}

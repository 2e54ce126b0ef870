@testable import SerialqSystem
import TestSupport
import Testing

@testable import SerialqQueue

@Suite struct SpoolTests {
  private let temporary: TemporaryFolder
  private let name = "default"

  init() throws { temporary = try TemporaryFolder() }

  private func spool(_ environment: [String: String]) throws -> Spool {
    try Spool(environment: { name in environment[name.description].map { Bytes($0.utf8) } })
  }

  // Fails when the variables are read in another order, or an empty one counts.
  @Test("The location of the spool follows from the environment", .shows(OnDisk.place))
  func places() throws {
    let home = ["HOME": "/h"]
    #expect(try spool(home).path == Bytes("/h/.local/state/serialq"))
    let state = home.merging(["XDG_STATE_HOME": "/s"]) { $1 }
    #expect(try spool(state).path == Bytes("/s/serialq"))
    #expect(try spool(state.merging(["SERIALQ_DIR": "/q"]) { $1 }).path == Bytes("/q"))
    #expect(try spool(state.merging(["SERIALQ_DIR": ""]) { $1 }).path == Bytes("/s/serialq"))
    let homeless = #expect(throws: Failure.self) { try spool([:]) }
    #expect(homeless?.why == "HOME is not set")
    let relative = #expect(throws: Failure.self) { try spool(["SERIALQ_DIR": "q", "HOME": "/h"]) }
    #expect(relative?.why == "not an absolute path")
  }

  // Fails when a link is followed: use stat instead of lstat.
  @Test(
    "A link in place of a spool or a queue is refused", .shows(OnDisk.plantsAreRefused),
    arguments: ["spool", "spool/", "q"])
  func links(kind: String) throws {
    let real = temporary.path("real")
    #expect(try FileSystem.makeFolder(real))
    let spool = Spool(path: temporary.path(kind == "spool/" ? kind : "spool"))
    if kind == "q" { #expect(try FileSystem.makeFolder(spool.path)) }
    let link = kind == "q" ? spool.path.appending(path: Bytes(name.utf8)) : temporary.path("spool")
    #expect(real.withCString { real in link.withCString { symlink(real, $0) } } == 0)
    #expect(throws: Failure.self) { try spool.existingQueue(named: name) }
    #expect(throws: Failure.self) { try spool.makeQueue(named: name) }
    #expect(try FileSystem.names(in: real) == [])
  }

  // Fails when any existing file counts as a folder.
  @Test(
    "A file in place of the spool or a queue is refused, and unchanged",
    arguments: ["spool", "spool/default"])
  func file(place: String) throws {
    let spool = Spool(path: temporary.path("spool"))
    if place != "spool" { #expect(try FileSystem.makeFolder(spool.path)) }
    try write(Bytes("mine"), to: temporary.path(place))
    #expect(throws: Failure.self) { try spool.existingQueue(named: name) }
    #expect(throws: Failure.self) { try spool.makeQueue(named: name) }
    #expect(try content(temporary.path(place)) == Bytes("mine"))
  }

  // Fails when a name can be a path, an option or a hidden file.
  @Test("Names of queues are letters, digits, dots, underscores and hyphens", .shows(OnDisk.names))
  func names() {
    for good in ["a", "9", "_", "a.b-c_D", String(repeating: "x", count: 64)] {
      #expect(QueueName.fault(in: Bytes(good.utf8)) == nil)
    }
    for bad in ["", ".", "..", ".a", "-a", "a/b", "a b", "é", String(repeating: "x", count: 65)] {
      #expect(QueueName.fault(in: Bytes(bad.utf8)) != nil)
    }
  }
}

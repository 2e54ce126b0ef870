import SerialqSystem
import TestSupport
import Testing

@testable import SerialqQueue

@Suite final class EnvironmentsTests: QueueSuite {
  private func store(_ variables: [Bytes], _ environments: Environments) throws -> Bytes {
    try Journal(folder).locked { (scope) throws(Failure) in
      try environments.store(variables, in: scope)
    }
  }

  // Fails when each store writes a separate file, or the variables are restored in another form.
  @Test("Equal environments are stored once and restored exactly", .shows(OnDisk.environmentsOnce))
  func once() throws {
    let environments = Environments(folder)
    let variables: [Bytes] = [Bytes("A=1"), Bytes("EMPTY="), [0x42, 0x3D, 0xFF, 0x0A], []]
    let key = try store(variables, environments)
    #expect(try store(variables, environments) == key)
    #expect(try environments.load(key) == variables)
    let none = try store([], environments)
    #expect(try environments.load(none) == [])
    #expect(Set(try FileSystem.names(in: folder.environments)) == [key, none])
    // The published FNV-1a of an empty input.
    #expect(none == Bytes("cbf29ce484222325"))
  }

  // Fails when a key is trusted without comparing the stored content.
  @Test("Two environments with the same hash are kept apart", .shows(OnDisk.environmentsOnce))
  func collision() throws {
    var environments = Environments(folder)
    environments.hash = { _ in Bytes("0000000000000000") }
    let one = try store([Bytes("A=1")], environments)
    let two = try store([Bytes("A=2")], environments)
    #expect(one != two)
    #expect(try store([Bytes("A=1")], environments) == one)
    #expect(try environments.load(one) == [Bytes("A=1")])
    #expect(try environments.load(two) == [Bytes("A=2")])
  }

  // Fails when any existing file is valid: a crash or a bad disk may have left half of it.
  @Test("A torn file is never trusted")
  func torn() throws {
    let environments = Environments(folder)
    let key = try store([Bytes("A=1"), Bytes("B=2")], environments)
    try write(Bytes("A=1\0"), to: folder.environments.appending(path: key))
    #expect(throws: Failure.self) { try environments.load(key) }
    let other = try store([Bytes("A=1"), Bytes("B=2")], environments)
    #expect(other != key)
    #expect(try environments.load(other) == [Bytes("A=1"), Bytes("B=2")])
    #expect(throws: Failure.self) { try environments.load(Bytes("nothing")) }
  }
}

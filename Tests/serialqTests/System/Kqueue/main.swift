// Built and run by KqueueTests, in one module with Sources/serialq/System. Prints what is wrong.
import CKqueue

/// Whether the watch has reported an event within the time.
///
/// libkqueue also wakes for nothing, so only an event ends the wait.
func hasEvent(_ watch: FileWatch, within milliseconds: Int64) -> Bool {
  let deadline = Clock.monotonic() + milliseconds * 1_000_000
  repeat {
    var event = kevent()
    let left = max(0, deadline - Clock.monotonic())
    var time = timespec(tv_sec: Int(left / 1_000_000_000), tv_nsec: Int(left % 1_000_000_000))
    if kevent(watch.descriptor, nil, 0, &event, 1, &time) > 0 { return true }
  } while Clock.monotonic() < deadline
  return false
}

func expect(_ condition: Bool, _ what: String) {
  if !condition { print(what) }
}

let folder = Bytes(CommandLine.arguments[1].utf8)

func path(_ name: String) -> Bytes { folder.appending(path: Bytes(name.utf8)) }

func create(_ name: String) throws -> FileDescriptor {
  try FileDescriptor.open(path(name), .log)
}

func openDescriptors() throws -> Int { try FileSystem.names(in: Bytes("/proc/self/fd")).count }

let old = try create("old")
let watch = try FileWatch(folders: [folder])

func expectEvent(_ what: String) {
  expect(hasEvent(watch, within: 0), "no event: \(what)")
  watch.drain()
  expect(!hasEvent(watch, within: 0), "not drained: \(what)")
}

expect(!hasEvent(watch, within: 0), "an event before any change")
try old.writeAll(Bytes("x"))
expectEvent("a file that was there grows")
let file = try create("f")
expectEvent("a file is created")
for _ in 1...2 {
  try file.writeAll(Bytes("x"))
  expectEvent("a new file grows")
}
try FileSystem.rename(path("f"), to: path("g"))
expectEvent("a file is renamed")
try file.writeAll(Bytes("x"))
expectEvent("a renamed file grows")
let other = try create("h")
expectEvent("another file is created")
try FileSystem.rename(path("h"), to: path("g"))
expectEvent("a file is replaced")
try other.writeAll(Bytes("x"))
expectEvent("the replacement grows")
try FileSystem.remove(path("g"))
expectEvent("a file is deleted")

let before = try openDescriptors()
for number in 1...50 {
  _ = try create("\(number)")
  watch.drain()
  try FileSystem.remove(path("\(number)"))
  watch.drain()
}
expect(try openDescriptors() == before, "descriptors of deleted files stay open")

for number in 1...200 { _ = try create("\(number)") }
watch.drain()
// libkqueue itself needs another one for each watched file.
expect(try openDescriptors() - before < 200, "every file of a large folder is open")
for _ in 1...2 {
  expect(hasEvent(watch, within: 10_000), "no polling of a large folder")
  watch.drain()
}

import Foundation
import SerialqSystem
import TestSupport
import Testing

/// The file watcher of macOS, on Linux with libkqueue, which implements kqueue with inotify.
///
/// Not covered: that `poll(2)` reports events of a kqueue, because libkqueue's descriptor is a
/// pipe, so the program cannot run with it; that new files are watched, because libkqueue reports
/// the growth of a folder's files as a change of the folder; what a file system of macOS reports.
#if os(Linux)
  // libkqueue is not demanded: Debian 12 does not have the package.
  @Suite(.needs(MissingTools(of: [.kqueue]), isDemanded: false)) struct KqueueTests {
    // Fails if `NOTE_WRITE` is not requested, `drain` leaves events or keeps deleted files open, or
    // a folder with many files opens them all, or is not polled.
    @Test("the watcher for macOS wakes when a file is created, grows, is replaced or deleted")
    func watch() throws {
      let scene = try Scene()
      let tests = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
      let sources = tests.appendingPathComponent("../../../Sources/serialq/System").path
      // What that layer uses of the library.
      let library = tests.appendingPathComponent("../../../Sources/SerialPromises/Support").path
      let header = try #require(Tool.kqueue.path())
      let modules = scene.folder.path("modules")
      let watched = scene.folder.path("watched")
      for folder in [modules, watched] { #expect(try FileSystem.makeFolder(folder)) }
      let map = "module CKqueue [system] { header \"\(header)\" link \"kqueue\" export * }\n"
      try write(Bytes(map.utf8), to: modules.appending(path: Bytes("module.modulemap")))
      let path = ProcessInfo.processInfo.environment["PATH"] ?? ""
      let outcome = try scene.script(
        """
        PATH='\(path)'
        options='-swift-version 6 -package-name serialpromises'
        swiftc $options -module-name SerialPromises -emit-module -emit-library -static -parse-as-library \
          -emit-module-path '\(modules.text)/SerialPromises.swiftmodule' -o libSerialPromises.a \
          '\(library)/Locked.swift' '\(library)/Atomic.swift' >&2 &&
        swiftc $options -D KQUEUE -I '\(modules.text)' \
          -Xcc -D_GNU_SOURCE -L /usr/local/lib -Xlinker -rpath -Xlinker /usr/local/lib \
          -module-name Driver -o driver $(find '\(sources)' -name '*.swift') \
          '\(tests.path)/Kqueue/main.swift' libSerialPromises.a >&2 && ./driver '\(watched.text)'
        """)
      #expect(outcome.text == "")
      #expect(outcome.code == 0, "\(outcome.errorText)")
    }
  }
#endif

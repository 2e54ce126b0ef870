import SerialqSystem
import Testing

/// A library that changes system calls of a program.
struct PreloadedLibrary {
  let path: Bytes

  /// Builds it from the text of a C file.
  init(_ name: String, _ source: String) throws {
    let folder = try Self.folder.get()
    path = folder.path("\(name).so")
    let file = folder.path("\(name).c")
    try write(Bytes(source.utf8), to: file)
    let flags = "-shared -fPIC -O1 -Wall -Wextra -Werror"
    let built = try Scene().script("cc \(flags) -o '\(path.text)' '\(file.text)' -ldl")
    try #require(built.code == 0, "\(built.errorText)")
  }

  /// The variable that loads it into `serialq`, which becomes the program that was built with the
  /// tests: the one under test may be linked statically, and would ignore it.
  func variable(in scene: Scene) throws -> Bytes {
    try scene.link(Scene.builtProgram)
    return Bytes("LD_PRELOAD=") + path
  }

  /// Removed when the tests end: they share the libraries.
  private static let folder: Result<TemporaryFolder, any Error> = Result {
    _ = atexit { try? TemporaryFolder.remove(PreloadedLibrary.folder.get().path) }
    return try TemporaryFolder()
  }
}

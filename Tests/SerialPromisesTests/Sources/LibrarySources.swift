import Foundation
import TestSupport

/// The sources of the library by their paths in its folder, without comments.
func librarySources() throws -> [(path: String, code: String)] {
  let folder = repository.appendingPathComponent("Sources/SerialPromises")
  let paths = try FileManager.default.subpathsOfDirectory(atPath: folder.path)
  return try paths.filter { $0.hasSuffix(".swift") && !$0.contains(".docc/") }.map { path in
    let text = try String(contentsOf: folder.appendingPathComponent(path), encoding: .utf8)
    return (path, text.replacing(/\/\/[^\n]*/, with: ""))
  }
}

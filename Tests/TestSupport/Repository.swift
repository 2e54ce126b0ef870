import Foundation

/// The folder of the package, with its sources and documents.
package let repository = (1...3).reduce(URL(fileURLWithPath: #filePath)) { path, _ in
  path.deletingLastPathComponent()
}

/// The blocks in a language between the fences of a document, as `.ci/blocks` prints them.
package func blocks(of language: String, in document: String) -> [String] {
  let parts = document.split(separator: "```", omittingEmptySubsequences: false)
  // Every second one is between two fences.
  return stride(from: 1, to: parts.count, by: 2).map { parts[$0] }
    .filter { $0.hasPrefix("\(language)\n") }.map { String($0.dropFirst(language.count + 1)) }
}

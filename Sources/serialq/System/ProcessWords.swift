/// The words that the program was called with.
package enum ProcessWords {
  /// The arguments after the program's name, byte for byte.
  ///
  /// `CommandLine.arguments` would not do: it repairs what is not UTF-8, and a job would be handed
  /// the name of a file that does not exist.
  package static func arguments() -> [Bytes] {
    let words = CommandLine.unsafeArgv
    return (0..<Int(CommandLine.argc)).dropFirst().compactMap { index in
      words[index].map { word in Bytes(UnsafeRawBufferPointer(start: word, count: strlen(word))) }
    }
  }
}

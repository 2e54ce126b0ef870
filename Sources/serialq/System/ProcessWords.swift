/// The command line of this process.
package enum ProcessWords {
  /// The arguments after the program's name, byte for byte.
  ///
  /// `CommandLine.arguments` repairs invalid UTF-8, so a job would receive the name of a file that
  /// does not exist.
  package static func arguments() -> [Bytes] {
    let words = CommandLine.unsafeArgv
    return (0..<Int(CommandLine.argc)).dropFirst().compactMap { index in
      words[index].map { word in Bytes(UnsafeRawBufferPointer(start: word, count: strlen(word))) }
    }
  }
}

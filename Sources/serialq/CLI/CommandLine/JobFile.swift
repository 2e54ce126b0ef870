import SerialqQueue
import SerialqSystem

/// The input of `add -f`: one command line per line.
enum JobFile {
  /// The command lines in `text`, in order and byte for byte.
  ///
  /// Skips blank lines and lines whose first visible character is `#`. Removes a carriage return
  /// before a line's end. `name` is the file name for error messages.
  static func commands(in text: Bytes, from name: Bytes) throws(Failure) -> [Command] {
    let file = name == Bytes("-") ? "standard input" : Visible.text(name)
    var commands: [Command] = []
    let lines = text.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
    for (index, line) in lines.enumerated() {
      let line = line.last == UInt8(ascii: "\r") ? line.dropLast() : line
      let visible = line.first { !$0.isBlank }
      guard let visible, visible != UInt8(ascii: "#") else { continue }
      guard !line.contains(0) else {
        throw Failure(
          "\(file), line \(index + 1)", "a command cannot contain a NUL byte",
          next: "Nothing was queued. Is it a text file?"
        )
      }
      commands.append(.shell(Bytes(line)))
    }
    guard !commands.isEmpty else {
      throw Failure(
        file, "no command in it",
        next: "It takes one command a line; blank lines and lines that start with # do not count."
      )
    }
    return commands
  }
}

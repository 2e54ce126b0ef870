import SerialqSystem

/// A completion script for a shell.
///
/// All completions are computed in ``Completion``. The scripts only pass the words, filter and
/// display the result. They contain no commands or options.
enum CompletionScript: String, CaseIterable {
  case bash, zsh, fish

  /// The operand of `completion` that the scripts use.
  static let wordsName = Bytes("words")

  var text: String {
    switch self {
    case .bash: CompletionScript.bashText
    case .zsh: CompletionScript.zshText
    case .fish: CompletionScript.fishText
    }
  }
}

import SerialqSystem

/// A script with which a shell completes the words of a call.
///
/// What a word can become is decided in one place for all shells, ``Completion``: the scripts hand it
/// the words, filter, and show. They know no command and no option.
enum CompletionScript: String, CaseIterable {
  case bash, zsh, fish

  /// The operand of `completion` with which the scripts ask.
  static let wordsName = Bytes("words")

  var text: String {
    switch self {
    case .bash: CompletionScript.bashText
    case .zsh: CompletionScript.zshText
    case .fish: CompletionScript.fishText
    }
  }
}

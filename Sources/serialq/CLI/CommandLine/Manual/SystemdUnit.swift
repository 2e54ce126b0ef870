import SerialqSystem

/// The unit with which systemd(1) goes on with a user's queues when the machine has started.
enum SystemdUnit {
  static let name = "serialq.service"

  /// For the program at this path.
  static func text(program: Bytes) -> String {
    """
    [Unit]
    Description=Go on with the queues of serialq
    Documentation=man:serialq(1)

    [Service]
    Type=oneshot
    RemainAfterExit=yes
    ExecStart=\(word(program)) resume --all

    [Install]
    WantedBy=default.target

    """
  }

  /// As systemd.service(5) reads words: `%` and `$` stand for something else, blanks part words.
  private static func word(_ path: Bytes) -> String {
    var text = ""
    for scalar in Visible.text(path).unicodeScalars {
      switch scalar {
      case "%", "$": text += "\(scalar)\(scalar)"
      case "\\", "\"": text += "\\\(scalar)"
      default: text.unicodeScalars.append(scalar)
      }
    }
    return text.contains(" ") ? "\"\(text)\"" : text
  }
}

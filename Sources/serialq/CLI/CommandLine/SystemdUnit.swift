import SerialqSystem

/// The systemd(1) unit that starts the runners of a user's queues after a reboot.
enum SystemdUnit {
  static let name = "serialq.service"

  /// The unit for the program at this path.
  static func text(program: Bytes) -> String {
    """
    [Unit]
    Description=Start the runners of the serialq queues
    Documentation=man:serialq(1)

    [Service]
    Type=oneshot
    RemainAfterExit=yes
    ExecStart=\(word(program)) start --all

    [Install]
    WantedBy=default.target

    """
  }

  /// Quotes a word for systemd.service(5), where `%` and `$` are expanded and blanks separate
  /// words.
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

import SerialqSystem

/// Another machine, as `--host` names it: `[USER@]BOX[:/path/of/serialq]`; an address of IPv6 may
/// stand in brackets.
struct HostAddress: Equatable {
  /// As ssh takes it: a name, or an alias in its configuration.
  var destination: Bytes
  /// The path of the program there; nil to search for it.
  var program: Bytes?

  /// Parses a value, which follows `source` in messages; nil if it is empty, which means this
  /// machine.
  static func parse(_ word: Bytes, from source: String) throws(Failure) -> HostAddress? {
    if word.isEmpty { return nil }
    var address = HostAddress(word)
    address.removeBrackets()
    guard let fault = address.fault else { return address }
    throw Failure(
      source + Visible.text(word), fault,
      next: "Give a host as ssh takes it, and a path if needed: user@box:/opt/bin/serialq")
  }

  private init(_ word: Bytes) {
    name = word
    let isURI = word.starts(with: Bytes("ssh://"))
    let colon = word.indices.first {
      word[$0] == UInt8(ascii: ":") && word[($0 + 1)...].first == UInt8(ascii: "/")
    }
    guard !isURI, let colon else {
      destination = word
      return
    }
    destination = Bytes(word[..<colon])
    program = Bytes(word[(colon + 1)...])
  }

  /// Removes the brackets, which ssh does not take, of `[::1]` and `me@[::1]`.
  private mutating func removeBrackets() {
    let start = destination.lastIndex(of: UInt8(ascii: "@")).map { $0 + 1 } ?? 0
    guard destination.dropFirst(start).first == UInt8(ascii: "["),
      destination.last == UInt8(ascii: "]")
    else { return }
    destination.removeLast()
    destination.remove(at: start)
  }

  private var fault: String? {
    let isURI = destination.starts(with: Bytes("ssh://"))
    let box = destination.split(separator: UInt8(ascii: "@"), omittingEmptySubsequences: false)
    guard let name = box.last, !name.isEmpty else { return "it names no host" }
    // ssh would take it for an option, which can name a command to execute here.
    if destination.first == UInt8(ascii: "-") || name.first == UInt8(ascii: "-") {
      return "a host cannot start with -"
    }
    guard destination.allSatisfy({ $0 > 0x20 && $0 != 0x7F }) else {
      return "a host contains no blanks"
    }
    guard isURI || !name.contains(where: Bytes("[]").contains) else {
      return "only an address can stand in brackets, as in [::1]; a port is given by ssh://BOX:PORT"
    }
    // `::1` is an address of IPv6.
    if !isURI, name.count(where: { $0 == UInt8(ascii: ":") }) == 1 {
      return "after : comes the path of serialq there, which starts with /"
    }
    // A port belongs in ssh://BOX:PORT. The signs are those that not every shell quotes alike.
    let special = Bytes("'\\!\n\r\0")
    if let program, program.contains(where: special.contains) {
      return "a path of serialq cannot contain quotes, \\, ! or line ends"
    }
    return nil
  }

  /// What the user typed.
  let name: Bytes

  var text: String { Visible.text(name) }

  /// The command line that carries out a call there.
  ///
  /// Means the same to sh, csh and fish. The shell has often read no profile, so a program that is
  /// not in PATH is also expected where `make install` puts it by default.
  func commandLine(for call: HostCall) -> Bytes {
    let script = """
      case $0 in /*) p=$0;; *) p=$(command -v serialq) || p=$HOME/.local/bin/serialq;; esac; \
      [ -f "$p" ] && [ -x "$p" ] && exec "$p" "$@"; \
      echo "$0 is not installed there, or not in a folder that is in PATH for ssh" >&2; \
      echo "Nothing was changed. Its path can be given: --host HOST:/path/of/serialq" >&2; exit 125
      """
    var line = Bytes("exec sh -c '\(script)' '".utf8)
    line += program ?? Bytes("serialq")
    line += Bytes("' ")
    line += HostCall.name
    line += Bytes(" ")
    line += call.word
    return line
  }
}

import Foundation

/// A program or file that some tests use, and that a machine with a Swift toolchain can lack.
///
/// Not listed is what every such machine has: sh, coreutils, diffutils, findutils, awk, grep, sed.
/// `.ci/without-tools` reads the cases below: one a line.
package enum Tool: String, CaseIterable, Sendable {
  case bash
  case bashCompletion = "bash-completion"
  case cc
  case chromium
  case col
  case fish
  case flock
  case git
  case jq
  case mandoc
  case mount
  case ps
  case script
  case setpriv
  case setsid
  case tar
  case tmux
  case unshare
  case zsh

  /// The package of Debian and Ubuntu that installs it.
  package var package: String {
    switch self {
    case .cc: "gcc"
    case .col: "bsdextrautils"
    case .flock, .setpriv, .setsid, .unshare: "util-linux"
    case .ps: "procps"
    case .script: "bsdutils"
    case .bash, .bashCompletion, .chromium, .fish, .git, .jq, .mandoc, .mount, .tar, .tmux, .zsh:
      rawValue
    }
  }

  /// The folders of programs, in the order in which the tests search them.
  package static let folders: [String] = {
    #if os(macOS)
      ["/usr/local/bin", "/opt/homebrew/bin", "/usr/bin", "/bin"]
    #else
      ["/usr/local/bin", "/usr/bin", "/bin"]
    #endif
  }()

  /// Where it is installed; `nil` where it is missing.
  package func path(in folders: [String] = Tool.folders) -> String? {
    if self == .bashCompletion {
      let path = "/usr/share/bash-completion/bash_completion"
      return isRegularFile(path, allowing: R_OK) ? path : nil
    }
    return folders.map { "\($0)/\(rawValue)" }.first { isRegularFile($0, allowing: X_OK) }
  }
}

/// Whether this is a regular file, or a link to one, that can be read or executed: not a folder, and
/// not a device such as `/dev/null` that is mounted over a file to hide it.
private func isRegularFile(_ path: String, allowing mode: Int32) -> Bool {
  var status = stat()
  return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFREG && access(path, mode) == 0
}

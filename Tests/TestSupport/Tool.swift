import Foundation

/// A program, library or file that some tests require and that a Swift toolchain does not include.
///
/// Tools that every supported machine has are not listed: sh, coreutils, diffutils, findutils, awk,
/// grep, sed.
/// `.ci/without-tools` parses the cases below, one per line.
package enum Tool: String, CaseIterable, Sendable {
  case bash
  case bashCompletion = "bash-completion"
  case busybox
  case bwrap
  case cc
  case chromium
  case col
  case dash
  case fish
  case flock
  case git
  case ip
  case jq
  case kqueue = "libkqueue"
  case mandoc
  case mount
  case munged
  case nsenter
  case perl
  case scancel
  case scontrol
  case script
  case setpriv
  case setsid
  case slurmctld
  case slurmd
  case squeue
  case srun
  case ssh
  case sshd
  case sshKeygen = "ssh-keygen"
  case systemctl
  case tcsh
  case tmux
  case unshare
  case vi
  case zsh

  /// The Debian and Ubuntu package that installs the tool.
  package var package: String {
    switch self {
    case .bwrap: "bubblewrap"
    case .cc: "gcc"
    case .col: "bsdextrautils"
    case .ip: "iproute2"
    case .kqueue: "libkqueue-dev"
    case .flock, .nsenter, .setpriv, .setsid, .unshare: "util-linux"
    case .munged: "munge"
    case .scancel, .scontrol, .squeue, .srun: "slurm-client"
    case .slurmctld: "slurmctld"
    case .slurmd: "slurmd"
    case .script: "bsdutils"
    case .ssh, .sshKeygen: "openssh-client"
    case .sshd: "openssh-server"
    case .systemctl: "systemd"
    case .vi: "vim-tiny"
    case .bash, .bashCompletion, .busybox, .chromium, .dash, .fish, .git, .jq, .mandoc, .mount,
      .perl,
      .tcsh, .tmux, .zsh:
      rawValue
    }
  }

  /// The folders that the tests search for programs, in order.
  package static let folders: [String] = {
    #if os(macOS)
      ["/usr/local/bin", "/opt/homebrew/bin", "/usr/bin", "/bin"]
    #else
      ["/usr/local/bin", "/usr/bin", "/bin"]
    #endif
  }()

  /// The path of the installed tool, or of a library's header; `nil` if it is missing.
  package func path(in folders: [String] = Tool.folders) -> String? {
    if self == .kqueue {
      return ["/usr/local/include", "/usr/include"].map { "\($0)/kqueue/sys/event.h" }
        .first { isRegularFile($0, allowing: R_OK) }
    }
    if self == .bashCompletion {
      let path = "/usr/share/bash-completion/bash_completion"
      return isRegularFile(path, allowing: R_OK) ? path : nil
    }
    // A server is in `/usr/sbin`, beside `/usr/bin`.
    let servers = folders.filter { $0.hasSuffix("/bin") }.map { "\($0.dropLast(3))sbin" }
    return (folders + servers).map { "\($0)/\(rawValue)" }
      .first { isRegularFile($0, allowing: X_OK) }
  }
}

/// Whether the path is a regular file, or a link to one, with this access.
///
/// Rejects folders, and devices such as `/dev/null` that are mounted over a file to hide it.
private func isRegularFile(_ path: String, allowing mode: Int32) -> Bool {
  var status = stat()
  return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFREG && access(path, mode) == 0
}

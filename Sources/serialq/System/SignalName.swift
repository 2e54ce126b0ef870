/// The names of signals.
package enum SignalName {
  /// `SIGTERM`; for a real-time signal `SIGRTMIN+3`; for what has no name `signal 32`.
  package static func of(_ signal: Int32) -> String {
    if let name = names[signal] { return name }
    #if canImport(Glibc)
      // glibc keeps the first few for itself, so where they start is known only when running.
      let first = __libc_current_sigrtmin()
      if signal == first { return "SIGRTMIN" }
      if signal > first, signal <= __libc_current_sigrtmax() {
        return "SIGRTMIN+\(signal - first)"
      }
    #endif
    return "signal \(signal)"
  }

  /// The number of a signal given as `SIGTERM`, `TERM`, `term` or `15`.
  package static func number(of word: Bytes) -> Int32? {
    if let number = Int(decimal: word) { return number <= 64 ? Int32(number) : nil }
    let upper = word.text.uppercased()
    return names.first { $0.value == upper || $0.value == "SIG" + upper }?.key
  }

  /// All names, by number.
  package static var all: [String] { names.sorted { $0.key < $1.key }.map(\.value) }

  /// By number, which differs from system to system.
  private static let names: [Int32: String] = {
    var names: [Int32: String] = [
      SIGHUP: "SIGHUP", SIGINT: "SIGINT", SIGQUIT: "SIGQUIT", SIGILL: "SIGILL",
      SIGTRAP: "SIGTRAP", SIGABRT: "SIGABRT", SIGBUS: "SIGBUS", SIGFPE: "SIGFPE",
      SIGKILL: "SIGKILL", SIGUSR1: "SIGUSR1", SIGSEGV: "SIGSEGV", SIGUSR2: "SIGUSR2",
      SIGPIPE: "SIGPIPE", SIGALRM: "SIGALRM", SIGTERM: "SIGTERM", SIGCHLD: "SIGCHLD",
      SIGCONT: "SIGCONT", SIGSTOP: "SIGSTOP", SIGTSTP: "SIGTSTP", SIGTTIN: "SIGTTIN",
      SIGTTOU: "SIGTTOU", SIGURG: "SIGURG", SIGXCPU: "SIGXCPU", SIGXFSZ: "SIGXFSZ",
      SIGVTALRM: "SIGVTALRM", SIGPROF: "SIGPROF", SIGWINCH: "SIGWINCH", SIGIO: "SIGIO",
      SIGSYS: "SIGSYS",
    ]
    #if canImport(Glibc)
      names[SIGPWR] = "SIGPWR"
      names[SIGSTKFLT] = "SIGSTKFLT"
    #else
      names[SIGEMT] = "SIGEMT"
      names[SIGINFO] = "SIGINFO"
    #endif
    return names
  }()
}

package enum SignalName {
  /// The name of a signal: `SIGTERM`, `SIGRTMIN+3` for a real-time one, or `signal 32` without a
  /// name.
  package static func of(_ signal: Int32) -> String {
    if let name = names[signal] { return name }
    #if canImport(Glibc)
      // glibc reserves the first real-time signals, so the base is known only at run time.
      let first = __libc_current_sigrtmin()
      if signal == first { return "SIGRTMIN" }
      if signal > first, signal <= __libc_current_sigrtmax() {
        return "SIGRTMIN+\(signal - first)"
      }
    #endif
    return "signal \(signal)"
  }

  /// Parses a signal given as `SIGTERM`, `TERM`, `term` or `15`.
  package static func number(of word: Bytes) -> Int32? {
    if let number = Int(decimal: word) { return number < Int(NSIG) ? Int32(number) : nil }
    let upper = word.text.uppercased()
    return names.first { $0.value == upper || $0.value == "SIG" + upper }?.key
  }

  /// All names, ordered by number.
  package static var all: [String] { names.sorted { $0.key < $1.key }.map(\.value) }

  /// Names by number, which differs between systems.
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

/// Makes this process the parent of its descendants whose own parents have ended, and reaps them.
///
/// So all processes of a job are found, even those that left its group, its session and its lock:
/// by `prctl(2)`, which only Linux has.
package final class Adoption: Sendable {
  /// Becomes readable when a child has ended; -1 where the system cannot report it.
  package let descriptor: Int32

  /// Call it on the main thread, before a child exists.
  ///
  /// Blocks SIGCHLD, which all other threads block: it wakes none, and is reported by the
  /// descriptor.
  package init() {
    #if os(Linux)
      var children = signalSet([SIGCHLD])
      pthread_sigmask(SIG_BLOCK, &children, nil)
      let becomesParent: Int32 = 36
      _ = prctl(becomesParent, 1, 0, 0, 0)
      descriptor = signalfd(-1, &children, Int32(O_CLOEXEC | O_NONBLOCK))
    #else
      descriptor = -1
    #endif
  }

  deinit { if descriptor >= 0 { close(descriptor) } }

  /// Reaps the children that have ended, up to one that this process started itself and waits for.
  ///
  /// Call it again after that was reaped.
  package func reap(except isOwn: (Int32) -> Bool) {
    guard descriptor >= 0 else { return }
    withUnsafeTemporaryAllocation(byteCount: 128, alignment: 8) { buffer in
      _ = read(descriptor, buffer.baseAddress, buffer.count)
    }
    while true {
      var ended = siginfo_t()
      guard waitid(P_ALL, 0, &ended, WEXITED | WNOHANG | WNOWAIT) == 0 else { return }
      #if canImport(Glibc)
        let pid = ended._sifields._sigchld.si_pid
      #else
        let pid = ended.si_pid
      #endif
      guard pid > 0, !isOwn(pid) else { return }
      var status: Int32 = 0
      _ = waitpid(pid, &status, WNOHANG)
    }
  }
}

#if os(Linux)
  /// `prctl(2)`, which Swift does not import because its arguments vary, as `syscall(2)`; see
  /// ``ProcessHandle``.
  @_silgen_name("prctl")
  private func prctl(_ option: Int32, _ one: UInt, _ two: UInt, _ three: UInt, _ four: UInt)
    -> Int32

  /// `signalfd(2)`, whose header Swift does not import.
  @_silgen_name("signalfd")
  private func signalfd(
    _ file: Int32, _ signals: UnsafePointer<sigset_t>, _ flags: Int32
  ) -> Int32
#endif

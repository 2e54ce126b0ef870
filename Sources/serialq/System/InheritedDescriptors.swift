/// What the program does about the descriptors that it was started with.
package enum InheritedDescriptors {
  /// Opens those of 0, 1 and 2 that are closed, on `/dev/null`; to be called first of all.
  ///
  /// Else the next file opened would become standard output, and a result be printed into the
  /// journal. Opened the wrong way round, so that using them still fails, as it does when closed.
  package static func fillStandardOnes() throws(Failure) {
    for descriptor in STDIN_FILENO...STDERR_FILENO where fcntl(descriptor, F_GETFD) == -1 {
      let mode = descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY
      // The lowest free number is used, and those below are open by now.
      guard open("/dev/null", mode) == descriptor else {
        throw SystemError("open", errno).failure("opening /dev/null")
      }
    }
  }
}

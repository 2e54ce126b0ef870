/// The standard descriptors that the process was started with.
package enum InheritedDescriptors {
  /// Opens descriptors 0, 1 and 2 on `/dev/null` where they are closed; call it first.
  ///
  /// Otherwise the next opened file becomes standard output, and results are written into the
  /// journal. Opens each in the wrong direction, so that using it still fails, as it does when
  /// closed.
  package static func fillStandardOnes() throws(Failure) {
    for descriptor in STDIN_FILENO...STDERR_FILENO where fcntl(descriptor, F_GETFD) == -1 {
      let mode = descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY
      // `open` returns the lowest free number, and all lower ones are open by now.
      guard open("/dev/null", mode) == descriptor else {
        throw Failure("open", errno, "opening", Bytes("/dev/null"))
      }
    }
  }
}

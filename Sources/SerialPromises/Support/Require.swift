/// Stops the program with a message unless the caller passed a valid argument.
///
/// Not `precondition`: release builds omit its message.
@inline(__always)
func require(_ condition: Bool, _ message: @autoclosure () -> String) {
  if !condition { fatalError(message()) }
}

/// The error that tests fail steps with.
struct Failed: Error, Equatable {
  var number = 0
}

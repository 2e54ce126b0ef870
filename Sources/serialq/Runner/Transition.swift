import SerialqSystem

// For the files that still say what each call is for, although the call itself does.

typealias SystemError = Failure

func attempt<Result>(
  _ what: @autoclosure () -> String, _ work: () throws(Failure) -> Result
) throws(Failure) -> Result {
  try work()
}

import SerialqSystem

typealias SystemError = Failure

func attempt<Result>(
  _ what: @autoclosure () -> String, _ work: () throws(Failure) -> Result
) throws(Failure) -> Result {
  try work()
}

/// The guarantees for jobs and queues on other machines.
package enum Elsewhere: String, Guarantee {
  package static let subject = "serialq, beyond one machine"

  case report = "A job whose launcher does not report its end is interrupted, never a success"
  case words = "A launcher gets the words, directory, umask and environment of a job unchanged"
  case alone = "Only the launcher of a job is signaled, and the next job waits for its end"
  case outlives = "The report of a launcher that outlives its runner is recorded"
  case fence = "A job that continues elsewhere after its launcher died delays the next one"
  case addedOnce = "An add with a key elsewhere queues its jobs once, however its connection breaks"
}

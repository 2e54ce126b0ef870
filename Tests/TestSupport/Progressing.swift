/// The guarantees of progress reporting.
package enum Progressing: String, Guarantee {
  package static let subject = "Progress"

  case range =
    "Progress starts at 0 and stays in 0…1; a decrease or a value above 1 is reported as misuse"
  case end = "A fulfilled promise reports 1 first; a failed one keeps its last value"
  case work =
    "reportProgress: counts for the innermost asynchronous work, of a step or a promise"
  case late = "A late listener receives the current value"
  case then = "then: a link of depth d counts 1/(d+1) of its chain"
  case recovery = "recover: forwards the source's progress; the recovery fills the remainder"
  case join = "a promise of a promise: outer and inner count one half each"
  case chain = "chain: each of N steps counts 1/N, or 1/(N+1) after a promise"
  case mean = "when: the mean; a settled promise counts 1 where failures are collected"
  case maximum = "any and race: the maximum"
  case manager =
    "manager: ended steps plus the running step's share, since the manager was last idle"
}

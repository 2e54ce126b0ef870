/// How progress is counted.
package enum Progressing: String, Guarantee {
  package static let subject = "Progress"

  case range = "It starts at 0 and stays in 0…1; falls and more than 1 are reported misuse"
  case end = "Fulfilling tells 1 first; failing leaves progress where it was"
  case late = "A late listener is told what was reached"
  case then = "then: a link of depth d counts 1/(d+1) of its chain"
  case recovery = "recover: passed through, and the recovery fills what is left"
  case join = "a promise of a promise: outer and inner count one half each"
  case chain = "chain: each of N steps counts 1/N, or 1/(N+1) after a promise"
  case mean = "when: the mean; a settled promise counts 1 where failures are collected"
  case maximum = "any and race: the furthest"
  case manager = "The manager's: what is over and the running step's share, since it was idle"
}

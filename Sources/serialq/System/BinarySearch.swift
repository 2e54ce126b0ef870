/// The first index at which `isBelow` no longer holds, `count` if there is none; O(log count).
@inlinable
package func firstIndex(upTo count: Int, after isBelow: (Int) -> Bool) -> Int {
  var (low, high) = (0, count)
  while low < high {
    let middle = (low + high) / 2
    if isBelow(middle) { low = middle + 1 } else { high = middle }
  }
  return low
}

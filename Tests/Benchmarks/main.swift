func run(_ contests: [Contest], _ reps: Int) {
  for c in contests {
    var samples = c.subjects.map { _ in Sample() }
    for _ in 0..<reps { for (i, s) in c.subjects.enumerated() { samples[i].add(s.measure()) } }
    print(c.title)
    for (i, s) in c.subjects.enumerated() {
      print("  ", s.name, samples[i].median.rounded(), "ns  x", ((samples[i].median / samples[0].median) * 100).rounded() / 100, "spread", (samples[i].spread*100).rounded(), "%")
    }
  }
}
run(libraryContests(100_000), 9)

import Foundation

// Measures the library, the program and their peers in one run, and prints ratios.
//
//   Benchmarks [--short] [--json] [--plots FOLDER] [--only TEXT]
//              [library] [memory] [serialq] [growth] [instructions]
//
// --short only checks that all benchmarks work, with few repetitions and steps. --plots draws,
// light and dark: the cost of a step, that of a job, and that of a call that adds a job against the
// number of waiting jobs. --only measures the contests with this text in their title.

let usage =
  "usage: Benchmarks [--short] [--json] [--plots FOLDER] [--only TEXT] "
  + "[library] [memory] [serialq] [growth] [instructions]"

var words = Array(CommandLine.arguments.dropFirst())
if words.count == 3, words[0] == WaitingSteps.option, let kind = WaitingSteps(rawValue: words[1]),
  let n = Int(words[2])
{
  print(kind.measure(n))
  exit(0)
}
if words.count == 3, words[0] == Instructions.option,
  let work = Instructions.Work(rawValue: words[1]),
  let n = Int(words[2])
{
  work.run(n)
  exit(0)
}

if words.count >= 3, words[0] == Isolated.option {
  let steps = words.dropFirst(3).contains("--short") ? 1_000 : 100_000
  Isolated.answer(
    words[1], words[2], among: libraryContests(steps) + promiseContests(steps) + turnContests(steps)
  )
  exit(0)
}

@MainActor func takeValue(of option: String) -> String? {
  guard let place = words.firstIndex(of: option), place + 1 < words.count else { return nil }
  defer { words.removeSubrange(place...place + 1) }
  return words[place + 1]
}
let plots = takeValue(of: "--plots")
let only = takeValue(of: "--only")
let known: Set = [
  "--short", "--json", "library", "memory", "serialq", "growth", "instructions",
]
guard Set(words).isSubset(of: known) else {
  print(usage)
  exit(125)
}
let isShort = words.contains("--short")
let sections = Set(words).subtracting(["--short", "--json"])
func includes(_ section: String) -> Bool { sections.isEmpty || sections.contains(section) }

@MainActor func draw(_ name: String, _ drawn: (Drawing.Theme) -> Drawing?) throws {
  guard let plots else { return }
  try FileManager.default.createDirectory(atPath: plots, withIntermediateDirectories: true)
  for theme in Drawing.Theme.allCases {
    let file = "\(plots)/\(name)-\(theme.rawValue).svg"
    try drawn(theme)?.svg.write(toFile: file, atomically: true, encoding: .utf8)
  }
}

let steps = isShort ? 1_000 : 100_000
let serialq = Queuer.serialq
var contests: [Contest] = []
var growths: [Growth] = []
var missing: [String] = []
var queues: QueueContests?

if includes("library") {
  contests += libraryContests(steps) + promiseContests(steps) + turnContests(steps)
  // Only peers in the toolchain can be measured in one run.
  missing.append("PromiseKit, NIO: not measured, because this package has no dependencies")
}
if includes("memory") {
  if let memory = WaitingSteps.contest(100_000) {
    contests.append(memory)
  } else {
    missing.append("memory: not available on this system")
  }
}
if includes("serialq"), let serialq {
  let made = QueueContests(serialq, waiting: isShort ? 1_000 : 100_000)
  contests += ProgramContests(serialq: serialq, jobs: isShort ? 20 : 1_000).all + made.all
  queues = made
}
if includes("instructions") {
  if let instructions = Instructions.contest(serialq) {
    contests.append(instructions)
  } else {
    missing.append("instructions: valgrind is not installed")
  }
}
if includes("serialq") || includes("growth") { missing += Queuer.missing }

if let only { contests = contests.filter { $0.title.contains(only) } }
let reports = contests.map { Report($0, repetitions: isShort ? 3 : 9) }
queues?.end()
Scratch.removeAll()
for report in reports {
  guard let picture = report.contest.picture else { continue }
  try draw(picture.name, ContestPlot(report: report, picture: picture).drawn)
}

if includes("growth") {
  let sizes = isShort ? [10, 100] : [1_000, 10_000, 100_000, 1_000_000]
  growths.append(.library(sizes, repetitions: isShort ? 1 : 5))
  if let serialq {
    growths.append(
      .displays(serialq, isShort ? [10, 100] : [100_000, 1_000_000], repetitions: isShort ? 1 : 3))
  }
  let programs = Growth.programs(
    isShort ? [1, 10] : [1, 10, 100] + sizes, repetitions: isShort ? 1 : 3)
  growths.append(programs)
  try draw("growth", GrowthPlot(growth: programs).drawn)
  Scratch.removeAll()
}

if words.contains("--json") {
  let all: [String: Any] = [
    "reports": reports.map(\.json), "growth": growths.map(\.json), "missing": missing,
  ]
  let data = try JSONSerialization.data(withJSONObject: all, options: [.sortedKeys])
  print(String(decoding: data, as: UTF8.self))
} else {
  for report in reports { print(report.table) }
  for growth in growths { print(growth.table) }
  for name in missing { print("missing: \(name)") }
}

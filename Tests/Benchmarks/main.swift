import Foundation

// Measures the library and the program beside their peers, all in one run, and prints ratios.
//
//   Benchmarks [--short] [--json] [library] [memory] [serialq]
//
// --short only proves that everything works: few repetitions, few steps.

if CommandLine.arguments.count == 4, CommandLine.arguments[1] == WaitingSteps.option,
  let kind = WaitingSteps(rawValue: CommandLine.arguments[2]), let n = Int(CommandLine.arguments[3])
{
  print(kind.measure(n))
  exit(0)
}

let words = Set(CommandLine.arguments.dropFirst())
let known: Set = ["--short", "--json", "library", "memory", "serialq"]
guard words.isSubset(of: known) else {
  print("usage: Benchmarks [--short] [--json] [library] [memory] [serialq]")
  exit(125)
}
let isShort = words.contains("--short")
let sections = words.subtracting(["--short", "--json"])
func includes(_ section: String) -> Bool { sections.isEmpty || sections.contains(section) }

let steps = isShort ? 1_000 : 100_000
var contests: [Contest] = []
var missing: [String] = []
if includes("library") { contests += libraryContests(steps) + promiseContests(steps) }
if includes("memory") {
  if let memory = WaitingSteps.contest(max(steps, 100_000)) {
    contests.append(memory)
  } else {
    missing.append("memory: the system does not say here")
  }
}
if includes("serialq") {
  if let programs = ProgramContests(jobs: isShort ? 20 : 1_000) {
    contests += programs.all
    missing += ProgramContests.missing.map { "\($0): not installed" }
  } else {
    missing.append("serialq: not built, or not named by SERIALQ_BINARY")
  }
}

let reports = contests.map { Report($0, repetitions: isShort ? 3 : 9) }
if words.contains("--json") {
  let all: [String: Any] = ["reports": reports.map(\.json), "missing": missing]
  let data = try JSONSerialization.data(withJSONObject: all, options: [.sortedKeys])
  print(String(decoding: data, as: UTF8.self))
} else {
  for report in reports { print(report.table) }
  for name in missing { print("missing: \(name)") }
}

import Foundation
import SerialqSystem
import TestSupport
import Testing

/// A queue with realistic jobs.
@Suite final class RealWorkTests: SceneSuite {
  // Fails if jobs overlap or change places, if a code or a log belongs to another job, or if times
  // are from a clock that restarts.
  @Test(
    "clone, build, try, fail, pack and check: codes, logs and times are correct",
    .needs(.git, .cc, .tar))
  func realWork() throws {
    let source = try repository()
    #expect(
      try scene.serialq("add", "--no-start", "-n", "clone", "git", "clone", "-q", source, "copy")
        .code == 0)
    let program = """
      cat >add.c <<'END'
      #include <stdio.h>
      int main(void) { int sum = 0; for (int i = 1; i <= 100; i++) sum += i;
        printf("%d\\n", sum); return 0; }
      END
      """
    #expect(try scene.serialq("add", "--no-start", "-n", "write", program).code == 0)
    #expect(
      try scene.serialq(
        "add", "--no-start", "-n", "build", "--", "cc", "-o", "add", "add.c"
      ).code == 0)
    #expect(try scene.serialq("add", "--no-start", "-n", "sum", "-C", ".", "./add").code == 0)
    #expect(
      try scene.serialq("add", "--no-start", "-n", "fail", "-c", "echo trouble >&2; exit 3").code
        == 0)
    let file = """
      # pack what was cloned, and check it
      tar -cf copy.tar copy
      cksum copy.tar >sum.before

      tar -xOf copy.tar copy/LICENSE >/dev/null || tar -tf copy.tar >/dev/null
      cksum copy.tar | cmp - sum.before && echo same
      git -C copy log --oneline | wc -l | tr -d ' '
      kill -TERM $$
      no-such-program-anywhere
      """
    try write(Bytes(file.utf8), to: scene.path("jobs"))
    #expect(try scene.serialq("add", "--no-start", "-n", "file", "-f", "jobs").text == "6-12\n")

    let run = try scene.serialq("run")
    #expect(run.code == 1)
    #expect(run.errorText.contains("job 5 failed with exit code 3"))
    #expect(run.errorText.contains("job 11 was killed by SIGTERM"))
    #expect(run.errorText.contains("job 12 failed with exit code 127"))
    #expect(run.errorText.contains("serialq: 9 of 12 succeeded"))
    #expect(run.errorText.contains("See its output: serialq log 5"))

    let jobs = try scene.listed()
    #expect(jobs.compactMap { $0["id"] as? Int } == Array(1...12))
    let codes: [Int?] = [0, 0, 0, 0, 3, 0, 0, 0, 0, 0, nil, 127]
    #expect(jobs.map { $0["exitCode"] as? Int } == codes)
    #expect(jobs[10]["signal"] as? String == "SIGTERM")
    let labels = ["clone", "write", "build", "sum", "fail"] + [String](repeating: "file", count: 7)
    #expect(jobs.map { $0["label"] as? String } == labels)
    #expect(try scene.log(4) == Bytes("5050\n"))
    #expect(try scene.log(5) == Bytes("trouble\n"))
    #expect(try scene.log(9) == Bytes("same\n"))
    #expect(try (Int(scene.log(10).text.dropLast()) ?? 0) > 0)
    try checkTimes(jobs)
    #expect(try scene.listedIDs("--failed") == [5, 11, 12])
    #expect(try scene.listedIDs("--last", "2") == [11, 12])
    #expect(try scene.listedIDs("--state", "killed") == [11])
  }

  private func checkTimes(_ jobs: [[String: Any]]) throws {
    var previous = ""
    for job in jobs {
      let times = try ["added", "started", "ended"].map { try #require(job[$0] as? String) }
      // RFC 3339 in UTC, always with six digits: text order is time order.
      #expect(times == times.sorted() && times.allSatisfy { $0.count == 27 && $0.last == "Z" })
      #expect(previous <= times[1], "job \(job["id"] ?? 0) started before the one before had ended")
      #expect(try #require(job["duration"] as? Double) > 0)
      previous = times[2]
    }
  }

  /// The project's own repository, or a small one if the sources are not in a checkout.
  private func repository() throws -> String {
    let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().path
    let found = try scene.script("git -C '\(folder)' rev-parse --show-toplevel")
    if found.code == 0 { return String(found.text.dropLast()) }
    let made = try scene.script(
      """
      git init -q own && cd own && echo text >LICENSE && git add LICENSE &&
      git -c user.name=test -c user.email=test@localhost commit -q -m first
      """)
    try #require(made.code == 0, "\(made.errorText)")
    return scene.path("own").text
  }
}

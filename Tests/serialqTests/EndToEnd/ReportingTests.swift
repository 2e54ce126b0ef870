import SerialqQueue
import SerialqSystem
import TestSupport
import Testing

/// `serialq report`, and the file that it writes.
@Suite final class ReportingTests: SceneSuite {
  private func fill() throws {
    #expect(try scene.serialq("run", "-n", "first", "echo said; exit 3").code == 3)
    #expect(try scene.serialq("run", "--retries", "1", "false").code == 1)
    try scene.add("echo <later>")
  }

  // Fails if an attempt, a job or a state is missing, or if the output to a pipe is wider than 80
  // columns.
  @Test("in a pipe the timeline is 80 columns wide and without color, with every attempt")
  func terminal() throws {
    try fill()
    let outcome = try scene.serialq("report")
    #expect(outcome.code == 0 && outcome.errorText == "", "\(outcome.errorText)")
    let lines = outcome.text.split(separator: "\n")
    #expect(lines[0] == "Queue default: 3 jobs, 2 failed")
    #expect(lines.contains { $0.contains(/^1 !  +0\.\ds  first: echo said; exit 3 +!+/) })
    #expect(lines.contains { $0.contains(/^3 \. +echo <later>[^!]*$/) })
    #expect(lines.contains(". 1 waiting   ! 2 failed"))
    #expect(lines.allSatisfy { $0.count <= 80 } && !outcome.text.contains("\u{1B}"))
    let narrow = try scene.serialq("report") { $0.environment.append(Bytes("COLUMNS=40")) }
    #expect(narrow.text.split(separator: "\n").allSatisfy { $0.count <= 40 })
    #expect(
      try scene.serialq("report", "--last", "1").text.contains("\n1 earlier job is not drawn"))
    let page = try scene.serialq("report", "--html", "-").text
    // Two attempts, one of them before the retry, which only the journal records.
    #expect(page.contains("<title>failed, ") && page.split(separator: "; failed, ").count == 2)
  }

  // Fails if there is no page for an empty queue.
  @Test("a missing queue is drawn as empty, and not created")
  func empty() throws {
    #expect(try scene.serialq("report").text == "Queue default is empty.\n")
    #expect(
      try scene.serialq("report", "--html", "-").text.contains("<title>serialq: default: empty"))
    // Only on standard output: a file may have the page of another queue.
    try write(Bytes("page"), to: scene.path("page"))
    expectRefusal(try scene.serialq("report", "--html", "page"), "queue default: no such queue")
    #expect(try content(scene.path("page")).text == "page")
    #expect(try FileSystem.status(of: scene.spool) == nil)
  }

  // Fails if a part of an older file remains, if modes are lost, or if a file is left behind.
  @Test("the page replaces the file atomically; its mode is kept, and a new one has the umask's")
  func file() throws {
    try fill()
    let page = try scene.serialq("report", "--html", "-").text
    func made() -> String {
      page.split(separator: "<p class=\"soft\">As of").first.map(String.init) ?? ""
    }
    let umask = "umask 027; serialq report --html 'a b.html'; stat -c %a 'a b.html'"
    #expect(try scene.script(umask).text == "640\n")
    #expect(try content(scene.path("a b.html")).text.hasPrefix(made()))
    let longer =
      "yes | head -c 300000 >old; chmod 600 old; ln -s old link; serialq report --html link"
    #expect(try scene.script("\(longer); stat -c %a old; readlink link").text == "600\nold\n")
    let replaced = try content(scene.path("old")).text
    #expect(replaced.hasPrefix(made()) && replaced.hasSuffix("</html>\n"))
    #expect(try scene.fileNames() == ["a b.html", "old", "link"])
  }

  // Fails if a file that is standard output is replaced, so that other text in it is lost.
  @Test("a path of standard output gets the page where the output is")
  func standardOutput() throws {
    try fill()
    let seen = try scene.script("serialq report --html /dev/stdout | tail -n 1; ls -l /dev/stdout")
    #expect(seen.text.hasPrefix("</html>\nl"), "\(seen.errorText)")
    for path in ["/dev/stdout", "page"] {
      _ = try scene.script("{ echo first; serialq report --html \(path); echo last; } >page")
      let text = try content(scene.path("page")).text
      #expect(text.hasPrefix("first\n<!DOCTYPE html>") && text.hasSuffix("</html>\nlast\n"))
    }
  }

  // Fails if a FIFO is written to, which blocks, or a link that leads nowhere is replaced.
  @Test("a FIFO, a folder and a dangling link are refused, and untouched")
  func special() throws {
    try fill()
    #expect(try scene.script("mkfifo pipe; mkdir folder; ln -s nothing link").code == 0)
    for (name, fault) in [
      ("pipe", "it is not a regular file"), ("folder", "it is not a regular file"),
      ("link", "it is a symbolic link"),
    ] {
      let refused = try scene.serialq("report", "--html", name)
      expectRefusal(refused, "writing \(name): \(fault)")
      #expect(refused.errorText.hasSuffix("another path, or - for standard output.\n"))
    }
    #expect(try scene.script("readlink link; ls -A folder; test -p pipe").text == "nothing\n")
    #expect(try scene.fileNames() == ["pipe", "folder", "link"])
  }

  // Fails if the error is detected too late, has no advice, or leaves a partial file.
  @Test("a page that cannot be written is a failure, and leaves nothing")
  func unwritable() throws {
    try fill()
    let outcome = try scene.serialq("report", "--html", "none/x.html")
    expectRefusal(outcome, "writing none/x.html: No such file or directory")
    // A sanitizer does not start within such a limit.
    guard !isSanitized else { return }
    // A limit that the page exceeds: the write fails half way.
    let limited = "trap '' XFSZ; printf old >page; ulimit -f 1; serialq report --html page"
    #expect(try scene.script(limited).code == 125)
    #expect(try content(scene.path("page")).text == "old")
    #expect(try scene.fileNames() == ["page"])
  }

  // Fails if a log is opened without a check of its type: a FIFO would block, a link would be read.
  @Test(
    "a planted log is refused by name", arguments: ["mkfifo -m 600", "ln -s /etc/passwd"])
  func planted(how: String) throws {
    try fill()
    let log = "\(scene.spool.text)/default/log/1"
    #expect(try scene.script("rm '\(log)'; \(how) '\(log)'").code == 0)
    let outcome = try scene.serialq("report", "--html", "page.html")
    expectRefusal(outcome, "reading \(log): it is ")
    #expect(try scene.fileNames().isEmpty)
    // The terminal report reads no log.
    #expect(try scene.serialq("report").code == 0)
  }

  // Fails if the output of a failure is missing, or all of a long one is read.
  @Test("a failure is shown with the end of its output, and no more")
  func tails() throws {
    #expect(try scene.serialq("run", "seq 100000; printf '\\377\\033[2J<b>'; exit 3").code == 3)
    let page = try scene.serialq("report", "--html", "-").text
    #expect(page.contains("\n99999\n100000\n&lt;FF&gt;^[[2J&lt;b&gt;</pre>"))
    #expect(!page.contains("99981\n") && page.contains("99982\n"))
    #expect(page.contains("<strong>failed with exit code 3 after "))
  }
}

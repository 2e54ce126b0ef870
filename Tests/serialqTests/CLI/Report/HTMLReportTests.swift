import Foundation
import SerialqQueue
import Testing

@testable import SerialqCLI

#if canImport(FoundationXML)
  import FoundationXML
#endif

@Suite struct HTMLReportTests {
  /// Hostile text for every value that a user can choose.
  private static let hostile =
    "</script><script>alert(1)</script><img onerror=x>\"'&lt;]]><!--\u{202E}\u{1B}[2J\u{7}\u{FFFE}"

  private static func hostileHistory() -> History {
    var history = History()
    for (line, label) in [(hostile, nil), ("true", hostile), ("true", hostile)] {
      history.run(history.add(line, label: label), at: Double(history.now), for: 2, .exited(1))
    }
    history.add(hostile, label: hostile)
    return history
  }

  // Fails if text is inserted unescaped, a tag left open, or a value not quoted.
  @Test("the page is well-formed for any text, and contains only the expected tags")
  func wellFormed() throws {
    let tame = try Page(HTMLReport(report: History.everything.report(tail: ["a", "b"])).page)
    #expect(tame.fault == nil, "\(tame.fault ?? "")")
    let page = try Page(HTMLReport(report: Self.hostileHistory().report(tail: [Self.hostile])).page)
    #expect(page.fault == nil, "\(page.fault ?? "")")
    #expect(Set(page.elements).isSubset(of: Set(tame.elements)))
    #expect(page.text.contains("</script><script>alert(1)</script><img onerror=x>\"'&lt;]]><!--"))
    for text in [page.text, tame.text] {
      #expect(
        text.unicodeScalars.allSatisfy { $0 == "\n" || $0.properties.generalCategory != .control })
    }
    for empty in [
      History(),
      {
        var one = History(); one.add(); return one
      }(),
    ] {
      #expect(try Page(HTMLReport(report: empty.report()).page).fault == nil)
    }
  }

  // Fails if the page refers to an external resource, or contains a script.
  @Test("the page needs no network and no script, and forbids both")
  func selfContained() throws {
    let source = HTMLReport(report: History.everything.report(tail: ["x"])).page
    for word in ["http:", "https:", "<script", "src=", "<link", "@import", "//"] {
      #expect(!source.contains(word), "\(word)")
    }
    #expect(source.contains("default-src 'none'"))
    let page = try Page(source)
    // Attributes with this prefix are event handlers.
    #expect(!page.attributes.contains { $0.hasPrefix("on") })
    let targets = page.values["href", default: []]
    #expect(!targets.isEmpty && targets.allSatisfy { $0.hasPrefix("#") })
    let ids = page.values["id", default: []]
    #expect(
      Set(ids).count == ids.count
        && Set(targets.map { $0.dropFirst() }).isSubset(of: Set(ids.map { $0[...] })))
  }

  // Fails if a state differs only in color, or a drawing has no text alternative.
  @Test("each state has its own pattern and its name, and each drawing a text alternative")
  func withoutColor() throws {
    let page = try Page(HTMLReport(report: History.everything.report()).page)
    for state in JobState.allCases {
      #expect(page.text.contains("\(state.name)"))
      let rule = HTMLStyle.sheet.markup.split(separator: "\n").first {
        $0.contains(".\(state.name) {")
      }
      let hasPattern = page.values["id"]?.contains("\(state.name)") == true
      #expect(hasPattern == (rule?.contains("url(#\(state.name))") == true))
    }
    let plain = JobState.allCases.filter { page.values["id"]?.contains("\($0.name)") != true }
    // One is filled, one is empty, one is dashed.
    #expect(plain == [.waiting, .succeeded, .skipped])
    let drawings = page.drawings
    #expect(
      !drawings.isEmpty
        && drawings.allSatisfy { $0["aria-hidden"] == "true" || $0["aria-label"] != nil })
    #expect(
      page.values["aria-label"]?.contains(
        "failed, 2027-01-15 10:30:12 to 10:30:17, 5.0s; succeeded, 2027-01-15 10:30:18 to 10:30:33, 15s"
      ) == true)
    #expect(page.values["aria-label"]?.contains { $0.hasSuffix("duration unknown") } == true)
  }

  // Fails if the drawing grows with the queue, or the text with a command.
  @Test("the page stays small, whatever the length of the queue, a command or a label")
  func small() {
    var history = History()
    for number in 0..<20_000 {
      history.job(at: Double(number), for: 0.5, label: "label \(number / 2)")
    }
    #expect(HTMLReport(report: history.report(last: 200)).page.utf8.count < 200_000)
    let long = String(repeating: "<", count: 100_000)
    var heavy = History()
    for _ in 0..<3 { heavy.run(heavy.add(long, label: long), at: heavy.now, for: 1, .exited(1)) }
    #expect(HTMLReport(report: heavy.report()).page.utf8.count < 60_000)
  }

  // Fails if an omission is not reported.
  @Test("the page reports what it omits")
  func leftOut() throws {
    var history = History()
    for number in 0..<30 { history.job(at: Double(number), for: 1, .exited(1)) }
    for _ in 0..<9 { history.add() }
    var report = history.report(last: 10)
    report.troubles = Array(report.troubles.suffix(5))
    let text = try Page(HTMLReport(report: report).page).text
    #expect(text.contains("20 earlier jobs are not drawn; --last N draws more."))
    #expect(text.contains("4 more waiting."))
    #expect(text.contains("The latest 5 of 30, newest first."))
  }
}

/// A page, parsed as XML.
private final class Page: NSObject, XMLParserDelegate {
  private(set) var elements: [String] = []
  private(set) var values: [String: [String]] = [:]
  private(set) var drawings: [[String: String]] = []
  private(set) var text = ""
  private(set) var fault: String?

  var attributes: [String] { Array(values.keys) }

  init(_ source: String) throws {
    super.init()
    let parser = XMLParser(data: Data(source.utf8))
    parser.delegate = self
    if !parser.parse() && fault == nil {
      fault = "line \(parser.lineNumber): \(parser.parserError.debugDescription)"
    }
  }

  func parser(
    _ parser: XMLParser, didStartElement name: String, namespaceURI: String?,
    qualifiedName: String?, attributes: [String: String]
  ) {
    elements.append(name)
    for (name, value) in attributes { values[name, default: []].append(value) }
    if name == "svg" { drawings.append(attributes) }
  }

  func parser(_ parser: XMLParser, parseErrorOccurred error: any Error) {
    fault = fault ?? "line \(parser.lineNumber): \(error)"
  }

  func parser(_ parser: XMLParser, foundCharacters string: String) { text += string }
}

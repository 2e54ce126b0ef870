/// The name and source location of the root of a chain, for diagnostics.
final class Origin: Sendable {
  let name: String?
  private let file: StaticString
  private let line: UInt
  private let handler: DiagnosticHandler?

  init(_ name: String?, _ file: StaticString, _ line: UInt, _ diagnostics: DiagnosticHandler? = nil)
  {
    self.name = name
    self.file = file
    self.line = line
    handler = diagnostics
  }

  var identity: PromiseIdentity {
    PromiseIdentity(name: name, file: file.description, line: line)
  }

  var diagnostics: DiagnosticHandler { handler ?? .shared }

  func report(_ diagnostic: Diagnostic) { diagnostics.report(diagnostic) }
}

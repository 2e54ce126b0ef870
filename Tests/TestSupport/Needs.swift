import Foundation
import Testing

/// The required tools that are not installed; `nil` if all of them are.
package struct MissingTools: Error, CustomStringConvertible {
  private let tools: [Tool]

  package init?(of needed: [Tool], in folders: [String] = Tool.folders) {
    tools = needed.filter { $0.path(in: folders) == nil }
    if tools.isEmpty { return nil }
  }

  package var description: String {
    let names = tools.map(\.rawValue)
    let list = (names.dropLast(2) + [names.suffix(2).joined(separator: " and ")])
      .joined(separator: ", ")
    var packages: [String] = []
    for tool in tools where !packages.contains(tool.package) { packages.append(tool.package) }
    return """
      needs \(list), which \(names.count == 1 ? "is" : "are") not installed: \
      apt-get install \(packages.joined(separator: " "))
      """
  }
}

extension Trait where Self == ConditionTrait {
  /// Skips the test, or every test of the suite, if one of these tools is missing.
  ///
  /// The reason names each missing tool and the command that installs it. With
  /// `SERIALQ_DEMAND_TOOLS=1` in the environment the test fails instead, so CI skips no test but
  /// those of kqueue.
  package static func needs(
    _ tools: Tool..., sourceLocation: SourceLocation = #_sourceLocation
  ) -> Self {
    needs(
      MissingTools(of: tools), isDemanded: areToolsDemanded, sourceLocation: sourceLocation)
  }

  /// Like ``needs(_:sourceLocation:)``, for a given list of missing tools.
  package static func needs(
    _ missing: MissingTools?, isDemanded: Bool, sourceLocation: SourceLocation = #_sourceLocation
  ) -> Self {
    .enabled(missing.map { "\($0.description)" }, sourceLocation: sourceLocation) {
      guard let missing else { return true }
      if isDemanded { throw missing }
      return false
    }
  }
}

private let areToolsDemanded =
  ProcessInfo.processInfo.environment["SERIALQ_DEMAND_TOOLS"] == "1"

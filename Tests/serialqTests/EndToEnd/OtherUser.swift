import SerialqSystem
import TestSupport
import Testing

/// Another user, which root can become.
struct OtherUser {
  private let user: Int
  private let scene: Scene

  init(_ user: Int, _ scene: Scene) {
    self.user = user
    self.scene = scene
  }

  /// Makes the scene belong to the user.
  init(_ user: Int = 65_534, owning scene: Scene) throws {
    self.init(user, scene)
    let folder = "'\(scene.folder.path.text)'"
    let owned = "chown -R \(user):\(user) \(folder) && chmod 755 \(folder) \(folder)/*"
    try #require(try scene.script(owned).code == 0)
  }

  func script(_ text: String) throws -> Outcome {
    let words = ["/usr/bin/env", "setpriv", "--reuid=\(user)", "--regid=\(user)", "--clear-groups"]
    return try scene.launch(words + ["/bin/sh", "-c", text]).wait()
  }

  /// Adds the program `elevated`, which runs a command that the user cannot signal.
  func addElevated() throws {
    let path = "'\(scene.programs.text)/elevated'"
    let added = "cp \"$(command -v setpriv)\" \(path) && chmod 4755 \(path)"
    try #require(try scene.script(added).code == 0)
  }

  fileprivate static let isThere: Bool = {
    guard geteuid() == 0, let scene = try? Scene()
    else { return false }
    let opened = try? scene.script("chmod -R go+rX '\(scene.folder.path.text)'").code
    return opened == 0 && (try? OtherUser(65_534, scene).script("serialq --version").code) == 0
  }()
}

extension Trait where Self == ConditionTrait {
  static var needsOtherUser: Self {
    .enabled(if: OtherUser.isThere, "needs root, and a binary that other users can execute")
  }
}

import SerialPromises
import Testing

/// Animates as UIKit does: a later frame calls the completion.
final class Screen {
  private(set) var log: [String] = []

  func animate(_ change: () -> Void, completion: @escaping (_ finished: Bool) -> Void) {
    change()
    Task {
      log.append("frame")
      completion(true)
    }
  }

  func move(_ name: String) { log.append(name) }
}

struct AnimationsTests {
  // Fails if the second animation starts before the first has called its completion.
  @Test("a completion handler ends the step of an animation")
  func transition() async {
    let (screen, manager) = (Screen(), PromiseManager())
    for view in ["title", "picture"] {
      manager.add { then in
        screen.animate {
          screen.move(view)
        } completion: { _ in
          then()
        }
      }
    }
    await manager.idle()
    #expect(screen.log == ["title", "frame", "picture", "frame"])
  }
}

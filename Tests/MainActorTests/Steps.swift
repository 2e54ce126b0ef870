import Dispatch
import SerialPromises
import Testing

/// Steps that change a view model.
final class Board {
  private(set) var lines: [String] = []
  let manager = PromiseManager()

  func show(_ line: String) { lines.append(line) }

  func play(_ scenes: [String]) {
    for scene in scenes {
      manager.add { then in
        MainActor.preconditionIsolated()
        self.show("\(scene) begins")
        then()
        self.show("\(scene) returns")
      }
    }
  }
}

struct StepsTests {
  // Fails if a handler begins before the preceding one has returned; traps on another thread.
  @Test("steps change a view model one after another, added in a task or in a callback")
  func board() async {
    let board = Board()
    board.play(["one", "two"])
    await withCheckedContinuation { added in
      DispatchQueue.main.async {
        board.play(["three", "four"])
        added.resume()
      }
    }
    await board.manager.idle()
    let scenes = ["one", "two", "three", "four"]
    #expect(board.lines == scenes.flatMap { ["\($0) begins", "\($0) returns"] })
  }
}

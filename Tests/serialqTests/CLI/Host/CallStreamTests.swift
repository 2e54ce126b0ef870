import SerialqSystem
import TestSupport
import Testing

@testable import SerialqCLI

/// The messages of a call over connections that are lost.
@Suite struct CallStreamTests {
  /// Both sides, and what is on the way between them.
  private struct Network {
    var sides = [CallStream(keepsAll: true), CallStream()]
    /// The decoder of each side, and the bytes on the way to it.
    private var decoders = [HostMessageDecoder(), HostMessageDecoder()]
    private var onTheWay: [Bytes] = [[], []]
    var delivered: [[HostMessage]] = [[], []]

    mutating func connect() {
      let counts = sides.map(\.received)
      for side in 0...1 {
        sides[side].connect(received: counts[1 - side])
        decoders[side] = HostMessageDecoder()
        onTheWay[side] = HostMessage.opening
      }
    }

    mutating func cut() {
      for side in 0...1 {
        sides[side].disconnect()
        onTheWay[side] = []
      }
    }

    /// Puts one message of a side on the way; returns false if there is none.
    mutating func emit(from side: Int) -> Bool {
      guard let bytes = sides[side].takeBytes() else { return false }
      onTheWay[1 - side] += bytes
      return true
    }

    mutating func deliver(to side: Int, _ count: Int) {
      decoders[side].append(Bytes(onTheWay[side].prefix(count)))
      onTheWay[side].removeFirst(min(count, onTheWay[side].count))
      while case .message(let message) = decoders[side].next() {
        sides[side].note(message)
        if message.isNumbered { delivered[side].append(message) }
      }
    }
  }

  // Fails if a message is repeated or missing after a connection: continue with the message after
  // the last one that was sent in `connect(received:)`.
  @Test("every message is delivered once and in order, however connections are lost")
  func cuts() {
    for seed in 0..<50 / UInt64(ease) {
      var generator = SeededGenerator(seed: seed)
      var network = Network()
      var sent: [[HostMessage]] = [[], []]
      network.connect()
      for step in 0..<400 {
        let side = Int.random(in: 0...1, using: &generator)
        switch Int.random(in: 0..<20, using: &generator) {
        case 0:
          network.cut()
          network.connect()
        case 1...5 where step < 300:
          let size = Int.random(in: 0...HostMessage.piece, using: &generator)
          let message = HostMessage.output(Bytes(repeating: UInt8(step & 0xFF), count: size))
          network.sides[side].send(message)
          sent[side].append(message)
        case 6...12: _ = network.emit(from: side)
        default:
          network.deliver(to: side, .random(in: 0...2 * HostMessage.piece, using: &generator))
        }
      }
      for _ in 0..<3 {
        for side in 0...1 {
          while network.emit(from: side) {}
          network.deliver(to: 1 - side, .max)
        }
      }
      #expect(network.delivered[1] == sent[0] && network.delivered[0] == sent[1], "seed \(seed)")
      _ = network.sides[1].acknowledgement()
    }
  }

  // Fails if what the other side has received stays in memory.
  @Test("messages are kept until they are acknowledged")
  func acknowledged() {
    var stream = CallStream()
    stream.connect(received: 0)
    for _ in 0..<20 { stream.send(.output(Bytes(repeating: 1, count: HostMessage.piece))) }
    #expect(stream.isFull && !stream.isSettled)
    while stream.takeBytes() != nil {}
    stream.note(.acknowledged(19))
    #expect(!stream.isFull && !stream.isSettled && stream.size < 2 * HostMessage.piece)
    stream.note(.acknowledged(99))
    #expect(stream.isSettled && stream.size == 0)
  }

  // Fails if input is missing when a call begins again on a machine that has forgotten it.
  @Test("all input is kept for a call that can begin again")
  func beginsAgain() {
    var stream = CallStream(keepsAll: true)
    stream.connect(received: 0)
    stream.send(.input(Bytes("a")))
    stream.send(.inputEnd)
    while stream.takeBytes() != nil {}
    stream.note(.acknowledged(2))
    #expect(stream.isSettled && stream.isComplete)
    stream.beginAgain()
    stream.connect(received: 0)
    #expect(stream.takeBytes() == HostMessage.input(Bytes("a")).encoded)
    #expect(stream.takeBytes() == HostMessage.inputEnd.encoded)
  }
}

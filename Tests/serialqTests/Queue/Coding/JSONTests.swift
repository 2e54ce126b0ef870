import SerialqSystem
import TestSupport
import Testing

@testable import SerialqQueue

@Suite struct JSONTests {
  private func roundTrip(_ text: Bytes) throws -> Bytes {
    var json = JSONWriter()
    json.object { $0.member("t", text) }
    // The output is valid UTF-8 for any input; otherwise jq would refuse the line.
    #expect(Bytes(String(decoding: json.bytes, as: UTF8.self).utf8) == json.bytes)
    var object = FlatObject()
    return try json.bytes.withUnsafeBufferPointer { line in
      try object.begin(line)
      return try #require(try object.bytes("t"))
    }
  }

  // Fails when a byte is left out of the escapes: write 0x1F unescaped, or map 0xBF to U+F7FF.
  @Test("Every byte value is preserved, alone and between others")
  func everyByte() throws {
    for byte in UInt8.min...UInt8.max {
      #expect(try roundTrip([byte]) == [byte])
      #expect(try roundTrip([0x61, byte, 0xC3, 0xA9, byte]) == [0x61, byte, 0xC3, 0xA9, byte])
    }
    let all = Bytes(UInt8.min...UInt8.max)
    #expect(try roundTrip(all) == all)
  }

  // Fails when a sequence is judged by its first byte alone: accept any second byte after 0xE0.
  @Test("Random byte strings are preserved, above all those that are nearly UTF-8")
  func randomBytes() throws {
    var generator = SeededGenerator(seed: 1)
    let parts: [Bytes] = [
      [0xEF, 0x9E, 0x80], [0xEF, 0x9F, 0xBF], [0xEF, 0x9E], [0xED, 0xA0, 0x80], [0xE0, 0x80],
      [0xF0, 0x9F, 0x98, 0x80], [0xF4, 0x90, 0x80, 0x80], [0xC3], [0xA9], [0x22], [0x5C], [0],
    ]
    for _ in 0..<3_000 {
      var text = generator.bytes(upTo: 8)
      for _ in 0..<3 { text += parts.randomElement(using: &generator) ?? [] }
      text += generator.bytes(upTo: 3, in: 0x80...0xFF)
      #expect(try roundTrip(text) == text)
    }
  }

  // Fails when a comma is missing or doubled: do not reset `follows` after a key; or when a
  // character is escaped that needs no escape.
  @Test("Objects, arrays and every kind of value are written as JSON")
  func writes() {
    var json = JSONWriter()
    json.object { json in
      json.member("a", -7)
      json.key("b")
      json.array { json in
        json.double(1.5)
        json.bool(false)
        json.null()
        json.object { _ in }
        json.double(.infinity)
      }
      json.member("c", nil as Bytes?)
      json.key("d")
      json.string("é\n\u{1}\"\\")
    }
    #expect(
      json.bytes
        == Bytes(#"{"a":-7,"b":[1.5,false,null,{},null],"c":null,"d":"é\n\u0001\"\\"}"#))
  }

  // Fails when the parser is lenient: drop the check for leading zeros, or for the end of the text.
  @Test(
    "Anything but a flat object is refused",
    arguments: [
      "", "{", "{}x", " {}", "{\"a\":01}", "{\"a\":1,}", "{\"a\":-}", "{\"a\":\"\u{1}\"}",
      "{\"a\":\"\\x\"}", "{\"a\":\"\\u00\"}", "{\"a\":\"\\u0041\"}", "{\"a\":9223372036854775808}",
      "{\"a\":[1]}", "{\"a\":{}}", "{\"a\":tru}", "{\"a\":\"", "{\"a\":\"\\", "{a:1}", "[]",
    ])
  func refuses(text: String) {
    let readers: [(inout FlatObject) throws -> Void] = [
      { _ in }, { _ = try $0.number("a", .min ... .max) }, { _ = try $0.flag("a") },
      { _ = try $0.bytes("a") }, { _ = try $0.list("a") }, { _ = try $0.word("a") },
    ]
    for read in readers {
      var object = FlatObject()
      #expect(throws: FlatObjectError.self) {
        try Bytes(text.utf8).withUnsafeBufferPointer { text in
          try object.begin(text)
          try read(&object)
          try object.end()
        }
      }
    }
  }

  // Fails when numbers are accumulated as positive values: the smallest has no positive
  // counterpart.
  @Test("The smallest and the largest number are parsed")
  func extremes() throws {
    var object = FlatObject()
    let text = Bytes("{\"a\":-9223372036854775808,\"b\":9223372036854775807}")
    try text.withUnsafeBufferPointer { text in
      try object.begin(text)
      #expect(try object.number("a", .min ... .max) == .min)
      #expect(try object.number("b", .min ... .max) == .max)
    }
  }

  // Fails when a member is searched for, or one that was already read is found again.
  @Test("Members are read in their order, each once")
  func order() throws {
    var object = FlatObject()
    try Bytes("{\"a\":1,\"b\":true}").withUnsafeBufferPointer { text in
      try object.begin(text)
      #expect(object.has("a") && !object.has("b"))
      #expect(try object.number("a", .min ... .max) == 1)
      #expect(!object.has("a") && object.has("b"))
      #expect(throws: FlatObjectError.self) { try object.end() }
      #expect(try object.flag("b") && !object.has("b"))
      try object.end()
    }
  }

  // Fails when a table is wrong: every length from 0 to 40 uses another mix of steps of eight and
  // of one.
  @Test("The checksum is CRC-32 as in zip")
  func checksum() {
    #expect(CRC32.sum(Bytes("123456789")) == 0xCBF4_3926)
    #expect(CRC32.sum(Bytes("")) == 0)
    #expect(CRC32.sum(Bytes("The quick brown fox jumps over the lazy dog")) == 0x414F_A339)
    for count in 0...40 {
      let bytes = (0..<count).map { UInt8($0 * 37 & 0xFF) }
      var sum: UInt32 = 0xFFFF_FFFF
      for byte in bytes {
        sum ^= UInt32(byte)
        for _ in 0..<8 { sum = sum & 1 == 1 ? sum >> 1 ^ 0xEDB8_8320 : sum >> 1 }
      }
      #expect(CRC32.sum(bytes) == ~sum)
    }
  }
}

import OpenTokProtocol
import Testing

struct RumorFrameTests {
  let ping: [UInt8] = [0, 0, 0, 5, 0, 0, 7, 0, 0, 0x7B].dropLast()

  @Test func layout() throws {
    let frame = RumorFrame(.message, to: ["ab"], headers: ["K": "é"], payload: [9, 8])
    let bytes: [UInt8] = [0, 0, 0, 18, 0, 0, 2, 1, 0, 2, 0x61, 0x62, 1, 0, 1, 0x4B, 0, 2, 0xC3, 0xA9, 9, 8]
    #expect(frame.encoded() == bytes)
    #expect(frame.encodedSize == bytes.count && RumorFrame(.ping).encodedSize == ping.count)
    #expect(try RumorFrame(decoding: bytes) == frame)
    #expect(try RumorFrame(decoding: ping) == RumorFrame(.ping))
    #expect(RumorFrame(.ping).encoded() == ping)
  }

  @Test func everyCutAndEveryWrongLengthIsRefused() {
    let bytes = RumorFrame(.message, to: ["ab", ""], headers: ["K": "v", "": ""], payload: [1]).encoded()
    for length in 0..<bytes.count {
      #expect(throws: RumorError.length) { try RumorFrame(decoding: Array(bytes[..<length])) }
      var lying = Array(bytes[..<length])
      if length >= 4 {
        lying[3] = UInt8(length - 4)
        if length != bytes.count - 1 {
          #expect(throws: RumorError.length) { try RumorFrame(decoding: lying) }
        }
      }
    }
    #expect(throws: RumorError.length) { try RumorFrame(decoding: bytes + [0]) }
  }

  @Test func refusesOtherKindsTextAndSizes() {
    #expect(throws: RumorError.unknownKind(5)) { try RumorFrame(decoding: [0, 0, 0, 5, 0, 0, 5, 0, 0]) }
    #expect(throws: RumorError.encoding) {
      try RumorFrame(decoding: [0, 0, 0, 8, 0, 0, 2, 1, 0, 1, 0xFF, 0])
    }
    let many = RumorFrame(.subscribe, to: Array(repeating: "a", count: 65)).encoded()
    #expect(throws: RumorError.tooLarge) { try RumorFrame(decoding: many) }
    let big = RumorFrame(.message, payload: Array(repeating: 0, count: RumorFrame.maximumSize)).encoded()
    #expect(throws: RumorError.tooLarge) { try RumorFrame(decoding: big) }
  }

  @Test func encodingCutsWhatHasNoRoom() throws {
    let long = String(repeating: "x", count: 70_000)
    let cut = RumorFrame(.message, to: [long], headers: [long: ""])
    #expect(cut.encodedSize == cut.encoded().count)
    let decoded = try RumorFrame(decoding: cut.encoded())
    #expect(decoded.addresses[0].count == 65_535)
    #expect(RumorFrame(.subscribe, to: Array(repeating: "a", count: 300)).encoded()[7] == 255)
  }

  @Test func acknowledgesMessagesOnly() throws {
    let message = RumorFrame(
      .message, to: ["me"], headers: ["TRANSACTION-ID": "t", "X-TB-FROM-ADDRESS": "you"])
    #expect(
      message.acknowledgement(from: "me")
        == RumorFrame(.status, to: ["you"], headers: ["TRANSACTION-ID": "t", "X-TB-FROM-ADDRESS": "me"]))
    #expect(RumorFrame(.status, headers: ["TRANSACTION-ID": "t"]).acknowledgement(from: "me") == nil)
    #expect(RumorFrame(.pong).acknowledgement(from: "me") == nil)
  }

  @Test(arguments: [
    ("200", 200), ("2", nil), ("20x", nil), ("-99", nil), ("+20", nil), ("404", 404), ("099", nil),
  ])
  func status(text: String, expected: Int?) {
    #expect(RumorFrame(.status, headers: ["STATUS": text]).status == expected)
  }
}

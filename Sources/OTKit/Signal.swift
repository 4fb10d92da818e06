import OpenTokProtocol

/// A short message to all participants of a session or to one of them: chat lines, for example.
public struct Signal: Sendable, Hashable {
  /// At most 128 characters of `A-Z a-z 0-9 - . _ ~`.
  public let type: String?
  /// A text, or the JSON text of what is none. At most 8192 characters of JSON.
  public let data: String?
  /// Nil if the server sent it, or a participant who has left.
  public let from: Connection?
  public let isFromSelf: Bool

  static let maximumTypeSize = 128
  static let maximumDataSize = 8192

  /// - Throws: what the server would refuse.
  static func check(type: String?, data: String?) throws(OpenTokError) {
    if let type {
      guard type.utf8.count <= maximumTypeSize, type.utf8.allSatisfy({ isTypeCharacter($0) }) else {
        throw .signalTypeInvalid
      }
    }
    if let data, JSON.string(data).text.count > maximumDataSize { throw .signalTooLarge }
  }

  private static func isTypeCharacter(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
      UInt8(ascii: "~"):
      true
    default: false
    }
  }
}

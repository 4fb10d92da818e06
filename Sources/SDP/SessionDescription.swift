/// A session description (RFC 8866) as WebRTC uses it (RFC 8829).
///
/// Parsing and serialising keeps every line and their order. Lines may end in CRLF or LF; CRLF is written.
package struct SessionDescription: SDPSection, Equatable, Sendable {
  /// Bytes of a whole description, when parsing.
  package static let maximumSize = 128 * 1024
  package static let maximumMedia = 64

  /// Everything before the first medium, `v=` included.
  package var lines: [SDPLine]
  package var media: [MediaDescription]

  /// A description without media.
  ///
  /// - Parameters:
  ///   - id: number of the session in `o=` (RFC 8829, 5.2.1: 63 random bits).
  ///   - version: grows by one with each new description of the same session.
  package init(id: UInt64, version: UInt64) {
    lines = [
      SDPLine("v", "0"), SDPLine("o", "- \(id & 0x7FFF_FFFF_FFFF_FFFF) \(version) IN IP4 127.0.0.1"),
      SDPLine("s", "-"), SDPLine("t", "0 0"),
    ]
    media = []
  }

  package init(parsing text: String) throws(SDPError) {
    guard text.utf8.count <= Self.maximumSize else { throw .tooLarge }
    lines = []
    media = []
    var number = 0
    for bytes in Array(text.utf8).split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false) {
      number += 1
      let content = bytes.last == UInt8(ascii: "\r") ? bytes.dropLast() : bytes
      if content.isEmpty { continue }
      guard let line = SDPLine(content), !content.contains(UInt8(ascii: "\r")) else {
        throw .syntax(line: number)
      }
      guard lines.isEmpty == (line.type == UInt8(ascii: "v")) else {
        throw lines.isEmpty ? .notADescription : .syntax(line: number)
      }
      if line.type == UInt8(ascii: "m") {
        guard media.count < Self.maximumMedia else { throw .tooLarge }
        guard let medium = MediaDescription(line.value[...]) else { throw .syntax(line: number) }
        media.append(medium)
      } else if media.isEmpty {
        lines.append(line)
      } else {
        media[media.count - 1].lines.append(line)
      }
    }
    guard !lines.isEmpty else { throw .notADescription }
  }

  package func serialized() -> String {
    var output = ""
    for line in lines { output.append(line) }
    for medium in media {
      output.append(SDPLine("m", medium.line))
      for line in medium.lines { output.append(line) }
    }
    return output
  }

  /// Number of the session and of its version in the `o=` line; nil if they are no 64-bit numbers.
  package var origin: (id: UInt64, version: UInt64)? {
    guard let words = lines.first(where: { $0.type == UInt8(ascii: "o") })?.value[...].words, words.count > 2,
      let id = UInt64(words[1]), let version = UInt64(words[2])
    else { return nil }
    return (id, version)
  }

  /// The `mid`s in the groups of that kind (RFC 5888), such as `BUNDLE`.
  package func groups(_ semantics: String) -> [[String]] {
    attributes("group").map(\.words).filter { $0.first == semantics[...] }
      .map { $0.dropFirst().map(String.init) }
  }

  /// The medium with that `mid`.
  package func medium(mid: String) -> MediaDescription? { media.first { $0.mid == mid } }

  /// What is said of a medium's transport, there or else for the whole session; nil without such a medium.
  package func transport(ofMedium index: Int) -> TransportDescription? {
    guard media.indices.contains(index) else { return nil }
    var transport = TransportDescription(media[index])
    let session = TransportDescription(self)
    transport.usernameFragment = transport.usernameFragment ?? session.usernameFragment
    transport.password = transport.password ?? session.password
    if transport.options.isEmpty { transport.options = session.options }
    if transport.fingerprints.isEmpty { transport.fingerprints = session.fingerprints }
    transport.setup = transport.setup ?? session.setup
    return transport
  }

  /// A medium's direction, there or else for the whole session; `sendrecv` if nothing is said.
  package func direction(ofMedium index: Int) -> MediaDirection {
    guard media.indices.contains(index) else { return .inactive }
    return MediaDirection(media[index]) ?? MediaDirection(self) ?? .sendrecv
  }
}

extension String {
  fileprivate mutating func append(_ line: SDPLine) {
    unicodeScalars.append(Unicode.Scalar(line.type))
    append("=")
    append(line.value)
    append("\r\n")
  }
}

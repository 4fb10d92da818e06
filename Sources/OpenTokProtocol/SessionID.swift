/// The id of a session: `1_` or `2_` and Base64 (URL alphabet) of fields between `~`, one of which is the
/// API key.
package struct SessionID: Equatable, Sendable {
  package static let maximumSize = 255

  package let text: String
  /// The decoded fields: version, API key, location, creation time, random text, …
  package let fields: [String]

  /// Nil if it cannot be one.
  package init?(_ text: String) {
    guard text.utf8.count <= Self.maximumSize, text.utf8.dropFirst().first == UInt8(ascii: "_"),
      let bytes = Base64.bytes(text.dropFirst(2)), let decoded = String(validating: bytes, as: UTF8.self)
    else { return nil }
    let fields = decoded.split(separator: "~", omittingEmptySubsequences: false).map(String.init)
    guard fields.count >= 2, !fields[1].isEmpty else { return nil }
    self.text = text
    self.fields = fields
  }

  /// A new id.
  ///
  /// - Parameters:
  ///   - creationTime: milliseconds since 1970.
  ///   - archive: how the session is to be recorded by itself. A long name makes an id that is too long.
  package init(
    apiKey: String, creationTime: Int64, archive: AutomaticArchive? = nil,
    using generator: inout some RandomNumberGenerator
  ) {
    let random = (0..<2).map { _ in generator.next() as UInt64 }
    let name = Base64.urlText(
      random.flatMap { word in (0..<8).map { UInt8(truncatingIfNeeded: word >> (8 * $0)) } })
    fields = ["1", apiKey, "", String(creationTime), name, archive?.field ?? "", ""]
    text = "1_" + Base64.urlText(fields.joined(separator: "~").utf8)
  }

  package var apiKey: String { fields[1] }
  /// Milliseconds since 1970, if the id says so.
  package var creationTime: Int64? { fields.count > 3 ? Int64(fields[3]) : nil }

  /// The session is to be recorded from its first stream on: it says so itself, so nothing has to be kept.
  package var automaticArchive: AutomaticArchive? {
    fields.count > 5 ? AutomaticArchive(field: fields[5]) : nil
  }

  package func belongs(to apiKey: String) -> Bool { fields.contains(apiKey) }
}

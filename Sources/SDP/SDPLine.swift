/// A line `type=value` of a session description (RFC 8866, 5).
package struct SDPLine: Equatable, Sendable {
  /// An ASCII letter.
  package var type: UInt8
  package var value: String

  package init(_ type: Unicode.Scalar, _ value: String) {
    self.type = UInt8(truncatingIfNeeded: type.value)
    self.value = value
  }

  /// `a=name` or `a=name:value`.
  package init(attribute name: String, _ value: String? = nil) {
    self.init("a", value.map { "\(name):\($0)" } ?? name)
  }

  /// Nil if there is no `=` behind the first letter.
  init?(_ text: some Collection<UInt8>) {
    guard let type = text.first, text.dropFirst().first == UInt8(ascii: "="),
      (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(type)
    else { return nil }
    self.type = type
    value = String(decoding: text.dropFirst(2), as: UTF8.self)
  }

  /// Name and value of an attribute line, nil for other lines. Without a `:` the value is empty.
  package var attribute: (name: Substring, value: Substring)? {
    guard type == UInt8(ascii: "a") else { return nil }
    guard let colon = value.utf8.firstIndex(of: UInt8(ascii: ":")) else { return (value[...], "") }
    return (value[..<colon], value[value.utf8.index(after: colon)...])
  }
}

/// The session or one of the media of a description: lines in their order, and among them attributes.
/// What is not known here stays where it was.
package protocol SDPSection {
  var lines: [SDPLine] { get set }
}

extension SDPSection {
  /// The values of all attributes of that name.
  package func attributes(_ name: String) -> [Substring] {
    lines.compactMap { line in
      guard let attribute = line.attribute, attribute.name == name else { return nil }
      return attribute.value
    }
  }

  /// The value of the first attribute of that name; empty if it has none.
  package func attribute(_ name: String) -> Substring? {
    for line in lines {
      if let attribute = line.attribute, attribute.name == name { return attribute.value }
    }
    return nil
  }

  package func has(_ name: String) -> Bool { attribute(name) != nil }

  package mutating func append(attribute name: String, _ value: String? = nil) {
    lines.append(SDPLine(attribute: name, value))
  }

  package mutating func removeAttributes(_ name: String) {
    lines.removeAll { $0.attribute?.name == name[...] }
  }
}

extension StringProtocol {
  /// The parts between blanks.
  var words: [Substring] { parts(" ", omittingEmpty: true) }

  /// The parts between separators. By bytes and not by `Character`: what a combining accent follows is a
  /// separator all the same.
  func parts(_ separator: Unicode.Scalar, maxSplits: Int = .max, omittingEmpty: Bool = false) -> [Substring] {
    Substring(self).utf8.split(
      separator: UInt8(ascii: separator), maxSplits: maxSplits, omittingEmptySubsequences: omittingEmpty
    ).map { Substring($0) }
  }
}

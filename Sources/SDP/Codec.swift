/// A payload type of a medium and what it stands for.
package struct Codec: Equatable, Sendable {
  package var payloadType: UInt8
  /// As it was spelled; compare with `isNamed`.
  package var name: String
  package var clockRate: Int
  package var channels: Int
  /// The `fmtp` text: `minptime=10;useinbandfec=1`. Empty if there is none.
  package var parameters: String
  /// `nack`, `nack pli`, `ccm fir`, `goog-remb`, `transport-cc`, …
  package var feedback: [String]

  package init(
    payloadType: UInt8, name: String, clockRate: Int, channels: Int = 1, parameters: String = "",
    feedback: [String] = []
  ) {
    self.payloadType = payloadType
    self.name = name
    self.clockRate = clockRate
    self.channels = channels
    self.parameters = parameters
    self.feedback = feedback
  }

  /// Names have no case (RFC 8866, 6.6).
  package func isNamed(_ other: String) -> Bool { name.lowercased() == other.lowercased() }

  /// A format parameter, such as `apt`; nil if it is not there. Names have no case.
  package func parameter(_ key: String) -> String? {
    for part in parameters.parts(";") {
      let pair = part.parts("=", maxSplits: 1)
      if pair[0].words.first?.lowercased() == key.lowercased() {
        return pair.count > 1 ? String(pair[1].words.joined(separator: " ")) : ""
      }
    }
    return nil
  }

  /// For `rtx`: the payload type that it repeats (RFC 4588, 8.1).
  package var associatedPayloadType: UInt8? {
    isNamed("rtx") ? parameter("apt").flatMap { UInt8($0) }.flatMap { $0 < 128 ? $0 : nil } : nil
  }

  /// What a payload type means without an `rtpmap` (RFC 3551, 6).
  static func fixed(_ payloadType: UInt8) -> Codec? {
    switch payloadType {
    case 0: Codec(payloadType: 0, name: "PCMU", clockRate: 8000)
    case 8: Codec(payloadType: 8, name: "PCMA", clockRate: 8000)
    case 9: Codec(payloadType: 9, name: "G722", clockRate: 8000)
    case 13: Codec(payloadType: 13, name: "CN", clockRate: 8000)
    default: nil
    }
  }
}

extension MediaDescription {
  /// More `rtcp-fb` lines than this are not read.
  package static let maximumFeedback = 512

  /// The payload types of the `m=` line in their order of preference; those without a meaning are left out.
  package var codecs: [Codec] {
    var maps: [UInt8: Codec] = [:]
    var parameters: [UInt8: Substring] = [:]
    var feedback: [(payloadType: UInt8?, text: String)] = []
    for line in lines {
      guard let attribute = line.attribute, let blank = attribute.value.utf8.firstIndex(of: UInt8(ascii: " "))
      else { continue }
      let payloadType = UInt8(attribute.value[..<blank])
      let rest = attribute.value[attribute.value.utf8.index(after: blank)...]
      switch (attribute.name, payloadType) {
      case ("rtpmap", let type?): maps[type] = maps[type] ?? Codec(payloadType: type, mapping: rest)
      case ("fmtp", let type?): parameters[type] = parameters[type] ?? rest
      case ("rtcp-fb", _)
      where feedback.count < Self.maximumFeedback && (payloadType != nil || attribute.value[..<blank] == "*"):
        feedback.append((payloadType, String(rest)))
      default: break
      }
    }
    var seen: Set<UInt8> = []
    return formats.compactMap { format in
      guard let type = UInt8(format), type < 128, seen.insert(type).inserted,
        var codec = maps[type] ?? Codec.fixed(type)
      else { return nil }
      codec.parameters = parameters[type].map(String.init) ?? ""
      codec.feedback = feedback.filter { $0.payloadType == nil || $0.payloadType == type }.map(\.text)
      return codec
    }
  }

  /// Adds a payload type with its `rtpmap`, `rtcp-fb` and `fmtp` lines.
  package mutating func append(_ codec: Codec) {
    formats.append(String(codec.payloadType))
    let channels = codec.channels > 1 ? "/\(codec.channels)" : ""
    append(attribute: "rtpmap", "\(codec.payloadType) \(codec.name)/\(codec.clockRate)\(channels)")
    for feedback in codec.feedback { append(attribute: "rtcp-fb", "\(codec.payloadType) \(feedback)") }
    if !codec.parameters.isEmpty { append(attribute: "fmtp", "\(codec.payloadType) \(codec.parameters)") }
  }
}

extension Codec {
  /// `opus/48000/2` behind the payload type of an `rtpmap`.
  fileprivate init?(payloadType: UInt8, mapping: Substring) {
    let parts = mapping.parts("/")
    guard parts.count >= 2, !parts[0].isEmpty, let clockRate = UInt32(parts[1]), clockRate > 0 else {
      return nil
    }
    let channels = parts.count > 2 ? UInt8(parts[2]).map(Int.init) ?? 1 : 1
    self.init(
      payloadType: payloadType, name: String(parts[0]), clockRate: Int(clockRate), channels: max(channels, 1))
  }
}

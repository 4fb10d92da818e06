/// An RTP source of a medium with its attributes (RFC 5576).
package struct MediaSource: Equatable, Sendable {
  package var ssrc: UInt32
  package var attributes: [SDPAttribute]

  package init(ssrc: UInt32, attributes: [SDPAttribute] = []) {
    self.ssrc = ssrc
    self.attributes = attributes
  }

  package init(ssrc: UInt32, cname: String, msid: String? = nil) {
    self.ssrc = ssrc
    attributes = [SDPAttribute("cname", cname)]
    if let msid { attributes.append(SDPAttribute("msid", msid)) }
  }

  package subscript(_ name: String) -> String? { attributes.first { $0.name == name }?.value }

  package var cname: String? { self["cname"] }
}

/// Sources that belong together: `FID` a stream and its retransmissions, `SIM` layers.
package struct MediaSourceGroup: Equatable, Sendable {
  package var semantics: String
  package var ssrcs: [UInt32]

  package init(semantics: String, ssrcs: [UInt32]) {
    self.semantics = semantics
    self.ssrcs = ssrcs
  }
}

/// An RTP header extension (RFC 8285).
package struct HeaderExtension: Equatable, Sendable {
  package var id: Int
  /// If it is not used both ways.
  package var direction: MediaDirection?
  package var uri: String

  package init(id: Int, direction: MediaDirection? = nil, uri: String) {
    self.id = id
    self.direction = direction
    self.uri = uri
  }
}

extension MediaDescription {
  /// More sources than this are not read.
  package static let maximumSources = 128

  /// The sources in the order of their first lines.
  package var sources: [MediaSource] {
    var sources: [MediaSource] = []
    var indices: [UInt32: Int] = [:]
    for value in attributes("ssrc") {
      let parts = value.parts(" ", maxSplits: 1, omittingEmpty: true)
      guard let ssrc = parts.first.flatMap({ UInt32($0) }) else { continue }
      if indices[ssrc] == nil {
        guard sources.count < Self.maximumSources else { continue }
        indices[ssrc] = sources.count
        sources.append(MediaSource(ssrc: ssrc))
      }
      guard let index = indices[ssrc], parts.count > 1 else { continue }
      let pair = parts[1].parts(":", maxSplits: 1)
      sources[index].attributes.append(
        SDPAttribute(String(pair[0]), pair.count > 1 ? String(pair[1]) : ""))
    }
    return sources
  }

  package var sourceGroups: [MediaSourceGroup] {
    attributes("ssrc-group").prefix(Self.maximumSources).compactMap { value in
      let words = value.words
      let ssrcs = words.dropFirst().compactMap { UInt32($0) }
      guard let semantics = words.first, ssrcs.count == words.count - 1, !ssrcs.isEmpty else { return nil }
      return MediaSourceGroup(semantics: String(semantics), ssrcs: ssrcs)
    }
  }

  /// The source of the retransmissions of `ssrc`, from its `FID` group.
  package func retransmissionSource(of ssrc: UInt32) -> UInt32? {
    sourceGroups.first { $0.semantics == "FID" && $0.ssrcs.count == 2 && $0.ssrcs[0] == ssrc }?.ssrcs[1]
  }

  package var headerExtensions: [HeaderExtension] {
    attributes("extmap").compactMap { value in
      let words = value.words
      guard words.count >= 2 else { return nil }
      let parts = words[0].parts("/", maxSplits: 1)
      guard let id = parts.first.flatMap({ Int($0) }), (1...255).contains(id) else { return nil }
      let direction = parts.count > 1 ? MediaDirection(rawValue: String(parts[1])) : nil
      return HeaderExtension(id: id, direction: direction, uri: String(words[1]))
    }
  }

  package mutating func append(_ source: MediaSource) {
    for attribute in source.attributes {
      append(attribute: "ssrc", "\(source.ssrc) \(attribute.name):\(attribute.value)")
    }
  }

  package mutating func append(_ group: MediaSourceGroup) {
    append(
      attribute: "ssrc-group", ([group.semantics] + group.ssrcs.map { String($0) }).joined(separator: " "))
  }

  package mutating func append(_ headerExtension: HeaderExtension) {
    let direction = headerExtension.direction.map { "/\($0.rawValue)" } ?? ""
    append(attribute: "extmap", "\(headerExtension.id)\(direction) \(headerExtension.uri)")
  }
}

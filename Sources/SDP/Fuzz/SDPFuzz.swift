// Bodies for fuzzers and tests: they trap if a promise of the parser does not hold.

/// Whatever parses comes out as text that parses to the same, and no accessor traps.
package func fuzzSDP(_ bytes: UnsafeRawBufferPointer) {
  guard let description = try? SessionDescription(parsing: String(decoding: bytes, as: UTF8.self)) else {
    return
  }
  precondition((try? SessionDescription(parsing: description.serialized())) == description)
  _ = description.origin
  _ = description.groups("BUNDLE")
  for (index, medium) in description.media.enumerated() {
    precondition(description.transport(ofMedium: index) != nil)
    _ = description.direction(ofMedium: index).reversed
    var copy = MediaDescription(
      kind: medium.kind, port: medium.port, transportProtocol: medium.transportProtocol)
    for codec in medium.codecs {
      precondition(codec.payloadType < 128)
      _ = codec.associatedPayloadType
      copy.append(codec)
    }
    for source in medium.sources { copy.append(source) }
    for group in medium.sourceGroups {
      _ = medium.retransmissionSource(of: group.ssrcs[0])
      copy.append(group)
    }
    for headerExtension in medium.headerExtensions { copy.append(headerExtension) }
    for candidate in medium.candidates { copy.append(candidate) }
    precondition(copy.codecs.map(\.payloadType) == medium.codecs.map(\.payloadType))
    precondition(copy.candidates == medium.candidates)
    _ = (medium.msid, medium.mid, medium.isRejected)
  }
}

/// Whatever parses comes out as text that parses to the same.
package func fuzzICECandidate(_ bytes: UnsafeRawBufferPointer) {
  guard let candidate = try? ICECandidate(parsing: String(decoding: bytes, as: UTF8.self)) else { return }
  precondition((try? ICECandidate(parsing: candidate.text)) == candidate)
  _ = (candidate.isMDNS, candidate.isUDP, candidate.tcpType)
}

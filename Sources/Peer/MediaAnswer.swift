import RTP
import SDP

/// Our answer to an offer (RFC 8829, 5.3): we receive its first usable audio and its first usable video,
/// mirror the order of its media, their payload types and header extensions, and refuse the rest.
struct MediaAnswer: Sendable {
  let transport: RemoteTransport
  let streams: [ReceiveStreamConfiguration]
  let reducedSizeRTCP: Bool
  /// The section whose transport carries them all.
  let index: Int
  var mid: String? { offer.media[index].mid }

  private let offer: SessionDescription
  /// By index of the offer's media; nil: refused.
  private let accepted: [Accepted?]

  private struct Accepted: Sendable {
    var kind: MediaKind
    var codec: Codec
    var retransmission: Codec?
    var redundancy: Codec?
    var protection: MediaSupport.Protection?
    var isReceived: Bool
  }

  init(to offer: SessionDescription) throws(PeerError) {
    self.offer = offer
    let accepted = Self.choose(offer)
    guard let first = accepted.firstIndex(where: { $0 != nil }) else {
      throw .invalidDescription("no audio or video that we can receive")
    }
    self.accepted = accepted
    index = first
    transport = try RemoteTransport(offer, section: first, isOffer: true)
    var streams: [ReceiveStreamConfiguration] = []
    var reducedSizeRTCP = true
    for (index, item) in accepted.enumerated() {
      guard let item else { continue }
      if !offer.media[index].rtcpReducedSize { reducedSizeRTCP = false }
      if item.isReceived { streams.append(Self.stream(item, offer.media[index])) }
    }
    self.streams = streams
    self.reducedSizeRTCP = reducedSizeRTCP
  }

  private static func choose(_ offer: SessionDescription) -> [Accepted?] {
    let bundles = offer.groups("BUNDLE")
    var first: MediaDescription?
    var kinds: Set<MediaKind> = []
    return offer.media.enumerated().map { index, medium -> Accepted? in
      guard let kind = medium.mediaKind, !medium.isRejected, !kinds.contains(kind),
        let codec = MediaSupport.codec(kind, in: medium)
      else { return nil }
      if let first {
        // One transport is all we make.
        guard let mid = first.mid, let other = medium.mid,
          bundles.contains(where: { $0.contains(mid) && $0.contains(other) })
        else { return nil }
      } else {
        first = medium
      }
      kinds.insert(kind)
      var answered = codec
      answered.feedback = MediaSupport.feedback(kind).filter { codec.feedback.contains($0) }
      answered.parameters = kind == .audio ? MediaSupport.opusParameters : ""
      return Accepted(
        kind: kind, codec: answered,
        retransmission: kind == .video ? MediaSupport.retransmission(of: codec, in: medium) : nil,
        redundancy: kind == .audio ? MediaSupport.redundancy(of: codec, in: medium) : nil,
        protection: kind == .video ? MediaSupport.protection(in: medium) : nil,
        isReceived: offer.direction(ofMedium: index).sends)
    }
  }

  private static func stream(_ item: Accepted, _ medium: MediaDescription) -> ReceiveStreamConfiguration {
    var stream = ReceiveStreamConfiguration(kind: item.kind, payloadTypes: [item.codec.payloadType])
    stream.mid = medium.mid
    if let retransmission = item.retransmission {
      stream.rtxPayloadTypes = [retransmission.payloadType: item.codec.payloadType]
    }
    stream.redundantPayloadType = (item.redundancy ?? item.protection?.redundancy)?.payloadType
    if let protection = item.protection {
      stream.parityPayloadType = protection.parity.payloadType
      if let retransmission = protection.retransmission {
        stream.rtxPayloadTypes[retransmission.payloadType] = protection.redundancy.payloadType
      }
    }
    // With layers as sources of their own (SIM), the first is the lowest.
    stream.ssrc = medium.sources.first?.ssrc
    stream.rtxSSRC = stream.ssrc.flatMap { medium.retransmissionSource(of: $0) }
    stream.extensions = MediaSupport.extensionMap(of: medium)
    let feedback = item.codec.feedback
    stream.nack = feedback.contains("nack")
    stream.pli = feedback.contains("nack pli")
    stream.fir = feedback.contains("ccm fir")
    stream.remb = feedback.contains("goog-remb")
    stream.transportCC = feedback.contains("transport-cc")
    return stream
  }

  func description(_ local: LocalTransport) -> SessionDescription {
    var description = SessionDescription(id: local.sessionID, version: local.version)
    let mids = accepted.indices.filter { accepted[$0] != nil }.compactMap { offer.media[$0].mid }
    if !offer.groups("BUNDLE").isEmpty, !mids.isEmpty {
      description.append(attribute: "group", "BUNDLE \(mids.joined(separator: " "))")
    }
    description.append(attribute: "msid-semantic", " WMS")
    description.media = zip(offer.media, accepted).map { medium, item in
      item.map { answer(medium, $0, local) } ?? refusal(medium)
    }
    return description
  }

  private func answer(_ offered: MediaDescription, _ item: Accepted, _ local: LocalTransport)
    -> MediaDescription
  {
    let setup: TransportDescription.Setup = transport.role == .client ? .active : .passive
    var medium = MediaDescription(
      kind: offered.kind, transportProtocol: offered.transportProtocol,
      transport: local.description(setup: setup), mid: offered.mid)
    for (id, known) in MediaSupport.knownExtensions(of: offered) {
      medium.append(SDP.HeaderExtension(id: Int(id), uri: known.rawValue))
    }
    medium.append(attribute: item.isReceived ? "recvonly" : "inactive")
    medium.append(attribute: "rtcp-mux")
    if offered.rtcpReducedSize { medium.append(attribute: "rtcp-rsize") }
    // First comes what is preferred: browsers send copies only if asked so.
    if let redundancy = item.redundancy { medium.append(redundancy) }
    medium.append(item.codec)
    if let retransmission = item.retransmission { medium.append(retransmission) }
    if let protection = item.protection {
      medium.append(protection.redundancy)
      if let retransmission = protection.retransmission { medium.append(retransmission) }
      medium.append(protection.parity)
    }
    return medium
  }

  /// RFC 8829, 5.3.1: port 0, everything needed to recognise it, nothing else.
  private func refusal(_ offered: MediaDescription) -> MediaDescription {
    var medium = MediaDescription(
      kind: offered.kind, port: 0, transportProtocol: offered.transportProtocol, formats: offered.formats)
    medium.lines.append(SDPLine("c", "IN IP4 0.0.0.0"))
    if let mid = offered.mid { medium.append(attribute: "mid", mid) }
    medium.append(attribute: "inactive")
    return medium
  }
}

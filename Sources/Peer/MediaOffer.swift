import RTP
import SDP

/// What we offer to send: at most one audio and one video, bundled (RFC 8829, 5.2).
struct MediaOffer: Sendable {
  struct Section: Sendable {
    var kind: MediaKind
    var mid: String
    var ssrc: UInt32
    /// Video: of retransmissions (RFC 4588).
    var retransmissionSSRC: UInt32?
    var trackID: String
  }

  let streamID: String
  let cname: String
  let sections: [Section]

  /// - Parameter random: for the sources' numbers.
  init(
    audio: Bool, video: Bool, streamID: String, cname: String, random: inout some RandomNumberGenerator
  ) {
    self.streamID = streamID
    self.cname = cname
    var sources: Set<UInt32> = []
    func source() -> UInt32 {
      while true {
        let source = UInt32.random(in: 1...UInt32.max, using: &random)
        if sources.insert(source).inserted { return source }
      }
    }
    var sections: [Section] = []
    for kind in (audio ? [MediaKind.audio] : []) + (video ? [.video] : []) {
      sections.append(
        Section(
          kind: kind, mid: "\(sections.count)", ssrc: source(),
          retransmissionSSRC: kind == .video ? source() : nil, trackID: "\(streamID)-\(kind.rawValue)"))
    }
    self.sections = sections
  }

  func description(_ local: LocalTransport) -> SessionDescription {
    var description = SessionDescription(id: local.sessionID, version: local.version)
    let mids = sections.map(\.mid).joined(separator: " ")
    description.append(attribute: "group", "BUNDLE \(mids)")
    description.append(attribute: "msid-semantic", " WMS \(streamID)")
    description.media = sections.map { medium($0, transport: local.description(setup: .actpass)) }
    return description
  }

  private func medium(_ section: Section, transport: TransportDescription) -> MediaDescription {
    var medium = MediaDescription(
      kind: section.kind.rawValue, transportProtocol: "UDP/TLS/RTP/SAVPF", transport: transport,
      mid: section.mid)
    for (id, known) in MediaSupport.headerExtensions(section.kind) {
      medium.append(SDP.HeaderExtension(id: Int(id), uri: known.rawValue))
    }
    let msid = "\(streamID) \(section.trackID)"
    medium.append(attribute: "sendonly")
    medium.append(attribute: "msid", msid)
    medium.append(attribute: "rtcp-mux")
    medium.append(attribute: "rtcp-rsize")
    switch section.kind {
    case .audio:
      medium.append(MediaSupport.opus)
      medium.append(MediaSupport.redundantOpus)
    case .video:
      medium.append(MediaSupport.vp8)
      medium.append(MediaSupport.vp8Retransmission)
    }
    if let retransmission = section.retransmissionSSRC {
      medium.append(MediaSourceGroup(semantics: "FID", ssrcs: [section.ssrc, retransmission]))
    }
    medium.append(MediaSource(ssrc: section.ssrc, cname: cname, msid: msid))
    if let retransmission = section.retransmissionSSRC {
      medium.append(MediaSource(ssrc: retransmission, cname: cname, msid: msid))
    }
    return medium
  }

  /// What the other side made of it.
  struct Outcome: Sendable {
    var transport: RemoteTransport
    var streams: [SendStreamConfiguration]
    var reducedSizeRTCP: Bool
  }

  /// Holds `answer` against the offer. Media that the other side refused are left out; all refused is an
  /// error.
  func outcome(of answer: SessionDescription) throws(PeerError) -> Outcome {
    guard answer.media.count == sections.count else {
      throw .invalidDescription("the answer has \(answer.media.count) media, the offer \(sections.count)")
    }
    var accepted: [(index: Int, stream: SendStreamConfiguration)] = []
    for (index, section) in sections.enumerated() {
      let medium = answer.media[index]
      guard medium.kind == section.kind.rawValue else {
        throw .invalidDescription(
          "medium \(index) is \(medium.kind) in the answer, \(section.kind) in the offer")
      }
      guard !medium.isRejected, medium.mediaKind == section.kind,
        answer.direction(ofMedium: index).receives,
        let codec = MediaSupport.codec(section.kind, in: medium)
      else { continue }
      accepted.append((index, stream(section, medium, codec)))
    }
    guard let first = accepted.first else { throw .invalidDescription("every medium was refused") }
    let transport = try RemoteTransport(answer, section: first.index, isOffer: false)
    // Everything goes over the first one's transport; what the other side would not bundle is not sent.
    let bundles = answer.groups("BUNDLE")
    let bundled = accepted.filter { item in
      guard item.index != first.index else { return true }
      guard let mid = answer.media[first.index].mid, let other = answer.media[item.index].mid else {
        return false
      }
      return bundles.contains { $0.contains(mid) && $0.contains(other) }
    }
    return Outcome(
      transport: transport, streams: bundled.map(\.stream),
      reducedSizeRTCP: bundled.allSatisfy { answer.media[$0.index].rtcpReducedSize })
  }

  private func stream(_ section: Section, _ medium: MediaDescription, _ codec: Codec)
    -> SendStreamConfiguration
  {
    var stream = SendStreamConfiguration(
      kind: section.kind, ssrc: section.ssrc, payloadType: codec.payloadType)
    stream.mid = section.mid
    stream.extensions = MediaSupport.extensionMap(of: medium)
    stream.nack = codec.feedback.contains("nack")
    stream.transportCC = codec.feedback.contains("transport-cc")
    stream.remb = codec.feedback.contains("goog-remb")
    if section.kind == .audio {
      stream.redundantPayloadType = MediaSupport.redundancy(of: codec, in: medium)?.payloadType
    }
    if let ssrc = section.retransmissionSSRC,
      let retransmission = MediaSupport.retransmission(of: codec, in: medium)
    {
      stream.rtx = .init(ssrc: ssrc, payloadType: retransmission.payloadType)
    }
    return stream
  }
}

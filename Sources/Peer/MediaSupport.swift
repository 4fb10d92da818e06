import RTP
import SDP

/// Codecs, feedback and header extensions that this implementation speaks, as SDP names them.
enum MediaSupport {
  static let opus = Codec(
    payloadType: 111, name: "opus", clockRate: 48000, channels: 2, parameters: opusParameters,
    feedback: ["transport-cc"])
  /// Sound with copies of earlier sound (RFC 2198); the parameters are the codecs inside.
  static let redundantOpus = Codec(
    payloadType: 63, name: "red", clockRate: 48000, channels: 2, parameters: "111/111")
  static let vp8 = Codec(payloadType: 96, name: "VP8", clockRate: 90000, feedback: videoFeedback)
  static let vp8Retransmission = Codec(payloadType: 97, name: "rtx", clockRate: 90000, parameters: "apt=96")

  /// RFC 7587, 7: the shortest packets we would like, and that we use forward error correction.
  static let opusParameters = "minptime=10;useinbandfec=1"
  static let videoFeedback = ["goog-remb", "transport-cc", "ccm fir", "nack", "nack pli"]

  static func feedback(_ kind: MediaKind) -> [String] {
    switch kind {
    case .audio: opus.feedback
    case .video: videoFeedback
    }
  }

  /// In our offers, with their ids.
  static func headerExtensions(_ kind: MediaKind) -> [(id: UInt8, RTP.HeaderExtension)] {
    switch kind {
    case .audio:
      [(1, .audioLevel), (2, .absoluteSendTime), (3, .transportSequenceNumber), (4, .mid)]
    case .video: [(2, .absoluteSendTime), (3, .transportSequenceNumber), (4, .mid), (5, .playoutDelay)]
    }
  }

  /// The codec we use of those the other side named, with its payload type.
  static func codec(_ kind: MediaKind, in medium: MediaDescription) -> Codec? {
    medium.codecs.first { codec in
      switch kind {
      case .audio: codec.isNamed("opus") && codec.clockRate == 48000
      case .video: codec.isNamed("VP8") && codec.clockRate == 90000
      }
    }
  }

  /// The payload type of retransmissions of `codec`.
  static func retransmission(of codec: Codec, in medium: MediaDescription) -> Codec? {
    medium.codecs.first { $0.associatedPayloadType == codec.payloadType }
  }

  /// The payload type of `codec` with copies of it.
  static func redundancy(of codec: Codec, in medium: MediaDescription) -> Codec? {
    medium.codecs.first { candidate in
      let inside = candidate.parameters.split(separator: "/", omittingEmptySubsequences: false)
      return candidate.isNamed("red") && candidate.clockRate == codec.clockRate && inside.count >= 2
        && inside.allSatisfy { UInt8($0) == codec.payloadType }
    }
  }

  /// How a browser protects pictures: with parity packets (RFC 5109) inside RED (RFC 2198), of which each has
  /// a payload type, and retransmissions of RED one more.
  struct Protection: Sendable {
    var redundancy: Codec
    var retransmission: Codec?
    var parity: Codec
  }

  static func protection(in medium: MediaDescription) -> Protection? {
    func codec(_ name: String) -> Codec? {
      medium.codecs.first { $0.isNamed(name) && $0.clockRate == vp8.clockRate }
    }
    guard let redundancy = codec("red"), let parity = codec("ulpfec") else { return nil }
    return Protection(
      redundancy: redundancy, retransmission: retransmission(of: redundancy, in: medium), parity: parity)
  }

  static func extensionMap(of medium: MediaDescription) -> HeaderExtensionMap {
    var map = HeaderExtensionMap()
    for (id, known) in knownExtensions(of: medium) { map[known] = id }
    return map
  }

  /// Those we understand, once each, in the other side's order with its ids; 15 and above need headers
  /// that not everybody reads (RFC 8285, 4.3).
  static func knownExtensions(of medium: MediaDescription) -> [(id: UInt8, RTP.HeaderExtension)] {
    var seen: Set<RTP.HeaderExtension> = []
    return medium.headerExtensions.compactMap { offered in
      guard let known = RTP.HeaderExtension(rawValue: offered.uri), (1...14).contains(offered.id),
        seen.insert(known).inserted
      else { return nil }
      return (UInt8(offered.id), known)
    }
  }
}

extension MediaDescription {
  /// Audio or video over DTLS-SRTP with feedback, on one port with RTCP; nil otherwise.
  var mediaKind: MediaKind? {
    guard let kind = MediaKind(rawValue: kind), rtcpMux,
      ["UDP/TLS/RTP/SAVPF", "RTP/SAVPF", "TCP/TLS/RTP/SAVPF"].contains(transportProtocol)
    else { return nil }
    return kind
  }

  /// A section of ours: placeholders for the addresses, which candidates tell (RFC 8829, 5.2.1).
  init(kind: String, transportProtocol: String, transport: TransportDescription, mid: String?) {
    self.init(kind: kind, port: 9, transportProtocol: transportProtocol)
    lines.append(SDPLine("c", "IN IP4 0.0.0.0"))
    append(attribute: "rtcp", "9 IN IP4 0.0.0.0")
    append(transport)
    if let mid { append(attribute: "mid", mid) }
  }
}

import Base

/// Names a stream of one `RTPSession`.
package struct StreamID: Hashable, Sendable, CustomStringConvertible {
  package let number: Int

  package var description: String { "stream \(number)" }
}

/// A stream to send, as negotiated.
package struct SendStreamConfiguration: Sendable, Equatable {
  /// Retransmissions as a stream of their own (RFC 4588).
  package struct Retransmission: Sendable, Equatable {
    package var ssrc: UInt32
    package var payloadType: UInt8

    package init(ssrc: UInt32, payloadType: UInt8) {
      self.ssrc = ssrc
      self.payloadType = payloadType
    }
  }

  package var kind: MediaKind
  package var ssrc: UInt32
  package var payloadType: UInt8
  package var mid: String?
  /// Header extensions to send; the peer accepted them for this media section.
  package var extensions = HeaderExtensionMap()
  /// `a=rtcp-fb: nack`: lost packets are sent again, by RTX if there is one, else as they were.
  package var nack = false
  package var rtx: Retransmission?
  /// Sound: of `red` (RFC 2198), if the peer takes it.
  package var redundantPayloadType: UInt8?
  /// `a=rtcp-fb: transport-cc`: the peer reports arrival times (needs the header extension too).
  package var transportCC = false
  /// `a=rtcp-fb: goog-remb`.
  package var remb = false

  package init(kind: MediaKind, ssrc: UInt32, payloadType: UInt8) {
    self.kind = kind
    self.ssrc = ssrc
    self.payloadType = payloadType
  }
}

/// A stream to receive, as negotiated.
package struct ReceiveStreamConfiguration: Sendable, Equatable {
  package var kind: MediaKind
  package var mid: String?
  /// Payload types of our codec (Opus or VP8).
  package var payloadTypes: [UInt8]
  /// RTX payload type → the payload type it repeats (`apt`).
  package var rtxPayloadTypes: [UInt8: UInt8] = [:]
  /// Of `red` (RFC 2198) with our codec in it.
  package var redundantPayloadType: UInt8?
  /// Pictures: of `ulpfec` (RFC 5109), inside `red`.
  package var parityPayloadType: UInt8?
  /// From `a=ssrc`; nil: learnt from the mid extension, else from the payload type.
  package var ssrc: UInt32?
  /// From `a=ssrc-group:FID`; nil: learnt like `ssrc`.
  package var rtxSSRC: UInt32?
  /// The negotiated header extensions of this media section.
  package var extensions = HeaderExtensionMap()
  package var nack = false
  package var pli = false
  package var fir = false
  package var remb = false
  package var transportCC = false

  package init(kind: MediaKind, payloadTypes: [UInt8]) {
    self.kind = kind
    self.payloadTypes = payloadTypes
  }
}

/// What happened in an `RTPSession`.
package enum RTPSessionEvent: Sendable {
  /// An Opus packet for the audio thread's jitter buffer, in order of arrival.
  case audioPacket(StreamID, ReceivedAudioPacket)
  /// A picture that can be decoded now.
  case videoFrame(StreamID, ReceivedVideoFrame)
  /// The peer needs a key frame of a stream we send: at most one a second, the first at once.
  case keyFrameRequested(StreamID)
  /// What the video encoders of this session may produce together, without packet overhead.
  case targetBitrate(bitsPerSecond: Int)
  /// Share of our packets that the peer lost, 0...1, smoothed, less what copies make up for: for the Opus
  /// encoder's FEC.
  case packetLoss(Double)
  /// The sound must be delayed at least so long for the picture to be in time.
  case audioMinimumDelay(StreamID, Duration)
  /// The peer ended a stream (RTCP BYE).
  case bye(StreamID)
}

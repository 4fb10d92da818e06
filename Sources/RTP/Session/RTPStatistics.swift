import Base

/// Received from the peer: W3C webrtc-stats `RTCInboundRtpStreamStats`, as far as RTP knows.
package struct InboundRTPStatistics: Sendable, Equatable {
  package var stream: StreamID
  package var kind: MediaKind
  package var ssrc: UInt32?
  package var mid: String?
  package var packetsReceived = 0
  /// Payload octets, without headers and padding.
  package var bytesReceived = 0
  package var headerBytesReceived = 0
  /// May be negative when there are duplicates (RFC 3550, 6.4.1).
  package var packetsLost = 0
  /// Seconds.
  package var jitter = 0.0
  package var lastPacketReceived: Instant?
  package var nackCount = 0
  package var pliCount = 0
  package var firCount = 0
  package var framesReceived = 0
  package var keyFramesReceived = 0
  /// Complete or not, frames that will never be handed out.
  package var framesDropped = 0
  package var framesAssembledFromMultiplePackets = 0
  package var retransmittedPacketsReceived = 0
  package var retransmittedBytesReceived = 0
  package var packetsDuplicated = 0
  /// Sound: copies of earlier sound that came with later packets; pictures: parity packets. And those that
  /// were not needed.
  package var fecPacketsReceived = 0
  package var fecPacketsDiscarded = 0
  /// Video: sum over the frames handed out of the time from arrival of the first packet to `renderTime`,
  /// in seconds.
  package var jitterBufferDelay = 0.0
  package var jitterBufferEmittedCount = 0
  /// Video: sum over the frames handed out of the delay aimed at, in seconds.
  package var jitterBufferTargetDelay = 0.0

  init(stream: StreamID, kind: MediaKind) {
    self.stream = stream
    self.kind = kind
  }
}

/// Sent to the peer: W3C webrtc-stats `RTCOutboundRtpStreamStats`.
package struct OutboundRTPStatistics: Sendable, Equatable {
  package var stream: StreamID
  package var kind: MediaKind
  package var ssrc: UInt32
  package var mid: String?
  package var packetsSent = 0
  /// Payload octets, retransmissions included.
  package var bytesSent = 0
  package var headerBytesSent = 0
  package var retransmittedPacketsSent = 0
  package var retransmittedBytesSent = 0
  package var nackCount = 0
  package var pliCount = 0
  package var firCount = 0
  package var framesSent = 0
  package var keyFramesSent = 0
  /// Frames not sent because too much was waiting already.
  package var framesDropped = 0
  /// Seconds that packets waited in the pacer, summed over the packets.
  package var totalPacketSendDelay = 0.0
  /// Bits per second; video only.
  package var targetBitrate: Int?

  init(stream: StreamID, kind: MediaKind, ssrc: UInt32) {
    self.stream = stream
    self.kind = kind
    self.ssrc = ssrc
  }
}

/// What the peer says about a stream we send: W3C webrtc-stats `RTCRemoteInboundRtpStreamStats`.
package struct RemoteInboundRTPStatistics: Sendable, Equatable {
  package var stream: StreamID
  package var ssrc: UInt32
  package var packetsLost = 0
  /// 0...1, over the last report interval.
  package var fractionLost = 0.0
  /// Seconds.
  package var jitter = 0.0
  /// Seconds, the last measured; nil before the first.
  package var roundTripTime: Double?
  package var totalRoundTripTime = 0.0
  package var roundTripTimeMeasurements = 0

  init(stream: StreamID, ssrc: UInt32) {
    self.stream = stream
    self.ssrc = ssrc
  }
}

/// Everything `RTPSession.statistics` knows.
package struct RTPStatistics: Sendable, Equatable {
  package var inbound: [InboundRTPStatistics] = []
  package var outbound: [OutboundRTPStatistics] = []
  /// One for each outbound stream that the peer has reported on.
  package var remoteInbound: [RemoteInboundRTPStatistics] = []
  /// Bits per second the way to the peer is believed to carry (W3C: of the candidate pair).
  package var availableOutgoingBitrate = 0
  /// The smoothed round-trip time in seconds; nil before the first measurement.
  package var currentRoundTripTime: Double?
  /// Packets that were no RTP or RTCP, or lied about their lengths.
  package var packetsMalformed = 0
  /// RTP packets that belong to no stream.
  package var packetsUnknown = 0
}

/// What the sending half of an `RTPSession` is up against.
package struct SendingConditions: Sendable, Equatable {
  /// Bits per second for everything, packets with their overhead.
  package var availableBitrate: Int
  /// Share of our packets lost, 0...1.
  package var loss: Double
  /// Whether the peer tells what becomes of the packets. If not, `availableBitrate` says nothing of the path.
  package var isAnswered: Bool
  /// Whether it can be found out what the path carries without sending pictures.
  package var canProbe: Bool
  /// Pictures wait because too much is under way.
  package var isHeld: Bool
  /// Bits per second that are left for pictures.
  package var videoTarget: Int
  /// Of pictures since the start, without retransmissions.
  package var videoBytesSent: Int

  package init(
    availableBitrate: Int, loss: Double = 0, isAnswered: Bool = true, canProbe: Bool = true,
    isHeld: Bool = false, videoTarget: Int, videoBytesSent: Int
  ) {
    self.availableBitrate = availableBitrate
    self.loss = loss
    self.isAnswered = isAnswered
    self.canProbe = canProbe
    self.isHeld = isHeld
    self.videoTarget = videoTarget
    self.videoBytesSent = videoBytesSent
  }
}

import Base

/// One encoded picture on its way from an encoder to every peer that watches it.
package struct EncodedVideoFrame: Sendable {
  /// A whole VP8 frame (RFC 6386), without payload descriptor.
  package var bytes: [UInt8]
  package var isKeyFrame: Bool
  /// When the picture was taken; RTP timestamps and sender reports are made from it.
  package var captureTime: Instant
  package var width: Int
  package var height: Int
  /// VP8 temporal layer, 0 = base (RFC 7741, TID).
  package var temporalLayer: UInt8
  /// Whether it refers to base-layer frames only (RFC 7741, Y).
  package var layerSync: Bool
  /// Which of the publisher's encodings it belongs to; 0 is the full one.
  package var encoding = 0

  package init(
    bytes: [UInt8], isKeyFrame: Bool, captureTime: Instant, width: Int, height: Int,
    temporalLayer: UInt8 = 0, layerSync: Bool = false
  ) {
    self.bytes = bytes
    self.isKeyFrame = isKeyFrame
    self.captureTime = captureTime
    self.width = width
    self.height = height
    self.temporalLayer = temporalLayer
    self.layerSync = layerSync
  }
}

/// One encoded piece of sound on its way from an encoder to every peer that hears it.
package struct EncodedAudioFrame: Sendable {
  /// One Opus packet (RFC 6716).
  package var bytes: [UInt8]
  /// RTP timestamp in 1/48000 s, before the stream's random offset; continuous, gaps included (DTX).
  package var timestamp: UInt32
  package var captureTime: Instant
  /// Level in -dBov, 0 (loudest) to 127 (silence) (RFC 6464).
  package var level: UInt8
  /// First packet after a pause: the marker bit (RFC 3551, 4.1).
  package var startsTalkSpurt: Bool

  package init(
    bytes: [UInt8], timestamp: UInt32, captureTime: Instant, level: UInt8, startsTalkSpurt: Bool = false
  ) {
    self.bytes = bytes
    self.timestamp = timestamp
    self.captureTime = captureTime
    self.level = level
    self.startsTalkSpurt = startsTalkSpurt
  }
}

/// A complete received picture, in decoding order, every frame it refers to handed out before it.
package struct ReceivedVideoFrame: Sendable {
  /// A whole VP8 frame, without payload descriptor.
  package var bytes: [UInt8]
  package var isKeyFrame: Bool
  /// Extended RTP timestamp, 1/90000 s.
  package var timestamp: Int64
  /// Arrival of its last packet.
  package var arrival: Instant
  /// When it should be shown: smoothed by the jitter buffer and aligned with the sound.
  package var renderTime: Instant
  /// When it was captured, in seconds of the sender's clock; nil before its first report.
  package var captureTime: Double?

  package init(bytes: [UInt8], isKeyFrame: Bool, timestamp: Int64, arrival: Instant, renderTime: Instant) {
    self.bytes = bytes
    self.isKeyFrame = isKeyFrame
    self.timestamp = timestamp
    self.arrival = arrival
    self.renderTime = renderTime
  }
}

/// One received Opus packet, on its way into the audio thread's jitter buffer. Order, gaps and
/// duplicates are the jitter buffer's business.
package struct ReceivedAudioPacket: Sendable {
  package var bytes: [UInt8]
  /// Extended sequence number.
  package var sequenceNumber: Int64
  /// Extended RTP timestamp, 1/48000 s.
  package var timestamp: Int64
  package var arrival: Instant
  /// It came with a later packet (RFC 2198); `sequenceNumber` is what it probably was.
  package var isCopy: Bool
  /// When it was captured, in seconds of the sender's clock; nil before its first report.
  package var captureTime: Double?

  package init(
    bytes: [UInt8], sequenceNumber: Int64, timestamp: Int64, arrival: Instant, isCopy: Bool = false,
    captureTime: Double? = nil
  ) {
    self.bytes = bytes
    self.sequenceNumber = sequenceNumber
    self.timestamp = timestamp
    self.arrival = arrival
    self.isCopy = isCopy
    self.captureTime = captureTime
  }
}

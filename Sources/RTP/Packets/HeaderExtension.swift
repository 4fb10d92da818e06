import Base

/// The RTP header extensions we understand; the raw value is the URI in `a=extmap` (RFC 8285, 5).
package enum HeaderExtension: String, Sendable, CaseIterable {
  /// RFC 9143, 16.2.
  case mid = "urn:ietf:params:rtp-hdrext:sdes:mid"
  /// 24 bits, 6.18 fixed-point seconds.
  case absoluteSendTime = "http://www.webrtc.org/experiments/rtp-hdrext/abs-send-time"
  /// draft-holmer-rmcat-transport-wide-cc-extensions-01, 2.
  case transportSequenceNumber =
    "http://www.ietf.org/id/draft-holmer-rmcat-transport-wide-cc-extensions-01"
  /// RFC 6464.
  case audioLevel = "urn:ietf:params:rtp-hdrext:ssrc-audio-level"
  /// Limits the receiver's delay: two times 12 bits of 10 ms.
  case playoutDelay = "http://www.webrtc.org/experiments/rtp-hdrext/playout-delay"
}

/// Which id was negotiated for which header extension.
package struct HeaderExtensionMap: Sendable, Equatable {
  package var mid: UInt8?
  package var absoluteSendTime: UInt8?
  package var transportSequenceNumber: UInt8?
  package var audioLevel: UInt8?
  package var playoutDelay: UInt8?

  package init() {}

  package subscript(_ kind: HeaderExtension) -> UInt8? {
    get {
      switch kind {
      case .mid: mid
      case .absoluteSendTime: absoluteSendTime
      case .transportSequenceNumber: transportSequenceNumber
      case .audioLevel: audioLevel
      case .playoutDelay: playoutDelay
      }
    }
    set {
      switch kind {
      case .mid: mid = newValue
      case .absoluteSendTime: absoluteSendTime = newValue
      case .transportSequenceNumber: transportSequenceNumber = newValue
      case .audioLevel: audioLevel = newValue
      case .playoutDelay: playoutDelay = newValue
      }
    }
  }

  /// Takes over what `other` has and this one lacks: ids are the same in a whole bundle (RFC 9143, 16.1).
  mutating func merge(_ other: HeaderExtensionMap) {
    for kind in HeaderExtension.allCases where self[kind] == nil { self[kind] = other[kind] }
  }
}

/// The values of the header extensions of one received packet.
struct HeaderExtensionValues {
  /// In place, valid as long as the packet.
  var mid: UnsafeRawBufferPointer?
  /// 24 bits, units of 2^-18 s.
  var absoluteSendTime: UInt32?
  var transportSequenceNumber: UInt16?
  /// -dBov.
  var audioLevel: UInt8?
  /// Both in units of 10 ms.
  var playoutDelay: (minimum: Int, maximum: Int)?

  init(of packet: RTPPacket, by map: HeaderExtensionMap) {
    var values = (
      mid: UnsafeRawBufferPointer?.none, time: UInt32?.none, number: UInt16?.none, level: UInt8?.none,
      delay: (minimum: Int, maximum: Int)?.none
    )
    packet.forEachExtension { id, value in
      var reader = ByteReader(value)
      if id == map.transportSequenceNumber {
        values.number = reader.uint16()
      } else if id == map.absoluteSendTime {
        values.time = reader.uint24()
      } else if id == map.mid {
        values.mid = value
      } else if id == map.audioLevel {
        values.level = reader.uint8().map { $0 & 0x7F }
      } else if id == map.playoutDelay, let both = reader.uint24() {
        values.delay = (Int(both >> 12), Int(both & 0xFFF))
      }
    }
    mid = values.mid
    absoluteSendTime = values.time
    transportSequenceNumber = values.number
    audioLevel = values.level
    playoutDelay = values.delay
  }
}

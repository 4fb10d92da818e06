import Base

/// The part of the header that all packets of a sent stream have in common, with the places of what
/// changes. Extension elements always stand at the same offsets, so send times and transport-wide
/// numbers are filled in when a packet really leaves.
struct RTPHeaderTemplate {
  let ssrc: UInt32
  let payloadType: UInt8
  /// Offset of the 24-bit send time in the packet.
  private(set) var absoluteSendTimeOffset: Int?
  /// Offset of the 16-bit transport-wide sequence number in the packet.
  private(set) var transportSequenceNumberOffset: Int?
  /// Offset of the two 12-bit delays in the packet.
  private(set) var playoutDelayOffset: Int?
  private var audioLevelOffset: Int?
  private var bytes: [UInt8]

  /// Octets before the payload.
  var count: Int { bytes.count }

  init(ssrc: UInt32, payloadType: UInt8, mid: String?, extensions: HeaderExtensionMap) {
    self.ssrc = ssrc
    self.payloadType = payloadType & 0x7F
    bytes = [UInt8](repeating: 0, count: RTPPacket.fixedHeaderSize)
    bytes[0] = 0x80
    let mid = Array((mid ?? "").utf8.prefix(255))
    var elements: [(kind: HeaderExtension, id: UInt8, value: [UInt8])] = []
    for kind in HeaderExtension.allCases {
      guard let id = extensions[kind], id > 0 else { continue }
      switch kind {
      case .mid: if !mid.isEmpty { elements.append((kind, id, mid)) }
      case .absoluteSendTime: elements.append((kind, id, [0, 0, 0]))
      case .transportSequenceNumber: elements.append((kind, id, [0, 0]))
      case .audioLevel: elements.append((kind, id, [0x7F]))
      case .playoutDelay: elements.append((kind, id, [0, 0x0F, 0xFF]))
      }
    }
    guard !elements.isEmpty else { return }
    // The two-byte form only where the one-byte form cannot say it (RFC 8285, 4.1.2).
    let isOneByteForm = elements.allSatisfy { $0.id < 15 && (1...16).contains($0.value.count) }
    bytes[0] |= 0x10
    bytes += isOneByteForm ? [0xBE, 0xDE, 0, 0] : [0x10, 0x00, 0, 0]
    for (kind, id, value) in elements {
      bytes += isOneByteForm ? [id << 4 | UInt8(value.count - 1)] : [id, UInt8(value.count)]
      switch kind {
      case .absoluteSendTime: absoluteSendTimeOffset = bytes.count
      case .transportSequenceNumber: transportSequenceNumberOffset = bytes.count
      case .audioLevel: audioLevelOffset = bytes.count
      case .playoutDelay: playoutDelayOffset = bytes.count
      case .mid: break
      }
      bytes += value
    }
    while bytes.count % 4 != 0 { bytes.append(0) }
    bytes[15] = UInt8((bytes.count - 16) / 4)
  }

  func write(
    to writer: inout ByteWriter, marker: Bool, sequenceNumber: UInt16, timestamp: UInt32,
    audioLevel: UInt8 = 127, padding: Bool = false
  ) {
    let start = writer.count
    bytes.withUnsafeBytes { writer.bytes($0) }
    guard !writer.overflowed else { return }
    let header = UnsafeMutableRawBufferPointer(rebasing: writer.memory[start..<writer.count])
    if padding { header[0] |= 0x20 }
    header[1] = payloadType | (marker ? 0x80 : 0)
    header.storeBytes(of: sequenceNumber.bigEndian, toByteOffset: 2, as: UInt16.self)
    header.storeBytes(of: timestamp.bigEndian, toByteOffset: 4, as: UInt32.self)
    header.storeBytes(of: ssrc.bigEndian, toByteOffset: 8, as: UInt32.self)
    if let audioLevelOffset {
      // The V bit says "voice": so anything that is not silence.
      header[audioLevelOffset] = min(audioLevel, 127) | (audioLevel < 127 ? 0x80 : 0)
    }
  }
}

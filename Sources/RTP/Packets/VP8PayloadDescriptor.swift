import Base

/// What stands before the VP8 data in every RTP packet (RFC 7741, 4.2).
///
/// ```
///       0 1 2 3 4 5 6 7
///      +-+-+-+-+-+-+-+-+
///      |X|R|N|S|R| PID | (REQUIRED)
///      +-+-+-+-+-+-+-+-+
/// X:   |I|L|T|K|  RSV  |
///      +-+-+-+-+-+-+-+-+
/// I:   |M| PictureID   | 7 or, with M, 15 bits
///      +-+-+-+-+-+-+-+-+
/// L:   |   TL0PICIDX   |
///      +-+-+-+-+-+-+-+-+
/// T/K: |TID|Y| KEYIDX  |
///      +-+-+-+-+-+-+-+-+
/// ```
package struct VP8PayloadDescriptor: Equatable, Sendable {
  /// N: no other frame refers to this one.
  package var isDiscardable = false
  /// S: the first packet of a partition.
  package var startsPartition = false
  package var partitionIndex: UInt8 = 0
  package var pictureID: UInt16?
  /// Whether the picture id has 15 bits rather than 7.
  package var hasLongPictureID = true
  package var tl0PictureIndex: UInt8?
  /// TID; nil without T.
  package var temporalLayer: UInt8?
  /// Y: refers to base-layer frames only.
  package var layerSync = false
  package var keyIndex: UInt8?

  package init() {}

  /// The first packet of a frame.
  package var startsFrame: Bool { startsPartition && partitionIndex == 0 }

  /// Nil if the payload ends within it.
  package init?(parsing reader: inout ByteReader) {
    guard let first = reader.uint8() else { return nil }
    isDiscardable = first & 0x20 != 0
    startsPartition = first & 0x10 != 0
    partitionIndex = first & 0x07
    guard first & 0x80 != 0 else { return }
    guard let flags = reader.uint8() else { return nil }
    if flags & 0x80 != 0 {
      guard let high = reader.uint8() else { return nil }
      if high & 0x80 != 0 {
        guard let low = reader.uint8() else { return nil }
        pictureID = UInt16(high & 0x7F) << 8 | UInt16(low)
      } else {
        pictureID = UInt16(high)
        hasLongPictureID = false
      }
    }
    if flags & 0x40 != 0 {
      guard let index = reader.uint8() else { return nil }
      tl0PictureIndex = index
    }
    if flags & 0x30 != 0 {
      guard let octet = reader.uint8() else { return nil }
      if flags & 0x20 != 0 {
        temporalLayer = octet >> 6
        layerSync = octet & 0x20 != 0
      }
      if flags & 0x10 != 0 { keyIndex = octet & 0x1F }
    }
  }

  /// Octets that `write` makes.
  package var count: Int {
    guard hasExtension else { return 1 }
    return 2 + (pictureID == nil ? 0 : hasLongPictureID ? 2 : 1) + (tl0PictureIndex == nil ? 0 : 1)
      + (temporalLayer == nil && keyIndex == nil ? 0 : 1)
  }

  package func write(to writer: inout ByteWriter) {
    writer.uint8(
      (hasExtension ? 0x80 : 0) | (isDiscardable ? 0x20 : 0) | (startsPartition ? 0x10 : 0)
        | partitionIndex & 0x07)
    guard hasExtension else { return }
    writer.uint8(
      (pictureID == nil ? 0 : 0x80) | (tl0PictureIndex == nil ? 0 : 0x40)
        | (temporalLayer == nil ? 0 : 0x20) | (keyIndex == nil ? 0 : 0x10))
    if let pictureID {
      if hasLongPictureID {
        writer.uint16(0x8000 | pictureID)
      } else {
        writer.uint8(UInt8(pictureID & 0x7F))
      }
    }
    if let tl0PictureIndex { writer.uint8(tl0PictureIndex) }
    if temporalLayer != nil || keyIndex != nil {
      writer.uint8((temporalLayer ?? 0) << 6 | (layerSync ? 0x20 : 0) | (keyIndex ?? 0) & 0x1F)
    }
  }

  private var hasExtension: Bool {
    pictureID != nil || tl0PictureIndex != nil || temporalLayer != nil || keyIndex != nil
  }
}

/// The first octets of a VP8 frame (RFC 6386, 9.1).
package enum VP8FrameHeader {
  /// Whether these bytes begin a key frame; nil if they are no VP8 frame that can be decoded.
  package static func isKeyFrame(_ frame: UnsafeRawBufferPointer) -> Bool? {
    guard frame.count >= 3 else { return nil }
    guard frame[0] & 1 == 0 else { return false }
    guard frame.count >= 10, frame[3] == 0x9D, frame[4] == 0x01, frame[5] == 0x2A else { return nil }
    return true
  }
}

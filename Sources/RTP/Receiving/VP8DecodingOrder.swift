import Base

/// Knows which frames were handed to the decoder and so which others can be decoded: VP8 frames refer to
/// the frame before, or with temporal layers (RFC 7741, 4.2) to frames of their own or lower layers.
struct VP8DecodingOrder {
  enum Verdict: Equatable {
    /// Everything it needs has been handed out. `gap`: something before it is missing all the same.
    case decodable(gap: Bool)
    /// It needs a frame that has not been handed out.
    case waiting
    /// The order has gone past it.
    case obsolete
  }

  private struct Last {
    var sequenceNumber: Int64
    var pictureID: UInt16?
    var tl0PictureIndex: UInt8?
    /// A frame between the last base-layer frame and now was left out.
    var hasGapSinceBase: Bool
  }

  private var last: Last?

  var lastSequenceNumber: Int64? { last?.sequenceNumber }

  /// - Parameter isPadding: whether this number was a packet without payload.
  func judge(_ frame: AssembledFrame, isPadding: (Int64) -> Bool) -> Verdict {
    guard let last else { return frame.isKeyFrame ? .decodable(gap: false) : .waiting }
    guard frame.sequenceNumbers.lowerBound > last.sequenceNumber else { return .obsolete }
    let gap = hasGap(before: frame, after: last, isPadding: isPadding)
    if frame.isKeyFrame { return .decodable(gap: gap) }
    let descriptor = frame.descriptor
    guard let layer = descriptor.temporalLayer, let index = descriptor.tl0PictureIndex,
      let lastIndex = last.tl0PictureIndex
    else { return gap || last.hasGapSinceBase ? .waiting : .decodable(gap: false) }
    if layer == 0 { return index == lastIndex &+ 1 ? .decodable(gap: gap) : .waiting }
    guard index == lastIndex else { return .waiting }
    if descriptor.layerSync { return .decodable(gap: gap) }
    return gap || last.hasGapSinceBase ? .waiting : .decodable(gap: false)
  }

  mutating func handOut(_ frame: AssembledFrame, isPadding: (Int64) -> Bool) {
    let isBase = frame.isKeyFrame || frame.descriptor.temporalLayer ?? 0 == 0
    let gap = last.map { $0.hasGapSinceBase || hasGap(before: frame, after: $0, isPadding: isPadding) }
    last = Last(
      sequenceNumber: frame.sequenceNumbers.upperBound, pictureID: frame.descriptor.pictureID,
      tl0PictureIndex: frame.descriptor.tl0PictureIndex, hasGapSinceBase: isBase ? false : gap ?? false)
  }

  private func hasGap(before frame: AssembledFrame, after last: Last, isPadding: (Int64) -> Bool) -> Bool {
    if let id = frame.descriptor.pictureID, let lastID = last.pictureID {
      let mask: UInt16 = frame.descriptor.hasLongPictureID ? 0x7FFF : 0x7F
      return id & mask != (lastID &+ 1) & mask
    }
    var next = last.sequenceNumber + 1
    while next < frame.sequenceNumbers.lowerBound, isPadding(next) { next += 1 }
    return next != frame.sequenceNumbers.lowerBound
  }
}

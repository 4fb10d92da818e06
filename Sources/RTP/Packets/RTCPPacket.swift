import Base

/// One packet of an RTCP compound (RFC 3550, 6; RFC 4585, 6.1). What we do not use (APP, other feedback)
/// is skipped by the reader.
package enum RTCPPacket: Equatable, Sendable {
  case senderReport(SenderReport)
  case receiverReport(ReceiverReport)
  case sourceDescription([SourceDescription])
  case goodbye(ssrcs: [UInt32])
  case nack(NegativeAcknowledgement)
  /// RFC 4585, 6.3.1.
  case pictureLossIndication(sender: UInt32, media: UInt32)
  case fullIntraRequest(FullIntraRequest)
  case receiverEstimatedMaximumBitrate(ReceiverEstimatedMaximumBitrate)
  case transportFeedback(TransportFeedback)
  case extendedReport(ExtendedReport)

  enum PayloadType {
    static let senderReport: UInt8 = 200
    static let receiverReport: UInt8 = 201
    static let sourceDescription: UInt8 = 202
    static let goodbye: UInt8 = 203
    static let transportSpecificFeedback: UInt8 = 205
    static let payloadSpecificFeedback: UInt8 = 206
  }

  /// Calls `body` for each packet of a compound that is known and well-formed, in order.
  ///
  /// - Returns: false if something in it was malformed; lengths that point outside end the walk.
  @discardableResult
  package static func parse(_ bytes: UnsafeRawBufferPointer, _ body: (RTCPPacket) -> Void) -> Bool {
    var reader = ByteReader(bytes)
    var isWellFormed = bytes.count > 0
    while !reader.isAtEnd {
      guard let first = reader.uint8(), first >> 6 == 2, let type = reader.uint8(),
        let words = reader.uint16(), let content = reader.slice(4 * Int(words))
      else { return false }
      var end = content.count
      if first & 0x20 != 0 {
        guard let padding = content.last, padding > 0, Int(padding) <= end else { return false }
        end -= Int(padding)
      }
      var inner = ByteReader(UnsafeRawBufferPointer(rebasing: content[0..<end]))
      let count = first & 0x1F
      switch parseOne(type: type, count: count, &inner) {
      case .known(let packet): body(packet)
      case .unknown: break
      case .malformed: isWellFormed = false
      }
    }
    return isWellFormed
  }

  fileprivate enum Outcome {
    case known(RTCPPacket), unknown, malformed

    init(_ packet: RTCPPacket?) {
      self = packet.map { .known($0) } ?? .malformed
    }
  }

  private static func parseOne(type: UInt8, count: UInt8, _ reader: inout ByteReader) -> Outcome {
    switch (type, count) {
    case (PayloadType.senderReport, _):
      Outcome(SenderReport(parsing: &reader, blocks: Int(count)).map { .senderReport($0) })
    case (PayloadType.receiverReport, _):
      Outcome(ReceiverReport(parsing: &reader, blocks: Int(count)).map { .receiverReport($0) })
    case (PayloadType.sourceDescription, _):
      Outcome(SourceDescription.parse(&reader, chunks: Int(count)).map { .sourceDescription($0) })
    case (PayloadType.goodbye, _):
      Outcome(goodbye(&reader, count: Int(count)))
    case (PayloadType.transportSpecificFeedback, NegativeAcknowledgement.format):
      Outcome(NegativeAcknowledgement(parsing: &reader).map { .nack($0) })
    case (PayloadType.transportSpecificFeedback, TransportFeedback.format):
      Outcome(TransportFeedback(parsing: &reader).map { .transportFeedback($0) })
    case (PayloadType.payloadSpecificFeedback, 1):
      Outcome(pictureLossIndication(&reader))
    case (PayloadType.payloadSpecificFeedback, FullIntraRequest.format):
      Outcome(FullIntraRequest(parsing: &reader).map { .fullIntraRequest($0) })
    case (PayloadType.payloadSpecificFeedback, ReceiverEstimatedMaximumBitrate.format):
      ReceiverEstimatedMaximumBitrate.outcome(&reader)
    case (ExtendedReport.payloadType, _):
      Outcome(ExtendedReport(parsing: &reader).map { .extendedReport($0) })
    default: .unknown
    }
  }

  private static func goodbye(_ reader: inout ByteReader, count: Int) -> RTCPPacket? {
    var ssrcs: [UInt32] = []
    for _ in 0..<count {
      guard let ssrc = reader.uint32() else { return nil }
      ssrcs.append(ssrc)
    }
    return .goodbye(ssrcs: ssrcs)
  }

  private static func pictureLossIndication(_ reader: inout ByteReader) -> RTCPPacket? {
    guard let sender = reader.uint32(), let media = reader.uint32() else { return nil }
    return .pictureLossIndication(sender: sender, media: media)
  }

  /// Appends this packet to a compound.
  package func write(to writer: inout ByteWriter) {
    switch self {
    case .senderReport(let report): report.write(to: &writer)
    case .receiverReport(let report): report.write(to: &writer)
    case .sourceDescription(let chunks): SourceDescription.write(chunks, to: &writer)
    case .goodbye(let ssrcs):
      Self.write(type: PayloadType.goodbye, count: UInt8(min(ssrcs.count, 31)), to: &writer) { writer in
        for ssrc in ssrcs.prefix(31) { writer.uint32(ssrc) }
      }
    case .nack(let nack): nack.write(to: &writer)
    case .pictureLossIndication(let sender, let media):
      Self.write(type: PayloadType.payloadSpecificFeedback, count: 1, to: &writer) { writer in
        writer.uint32(sender)
        writer.uint32(media)
      }
    case .fullIntraRequest(let request): request.write(to: &writer)
    case .receiverEstimatedMaximumBitrate(let estimate): estimate.write(to: &writer)
    case .transportFeedback(let feedback): feedback.write(to: &writer)
    case .extendedReport(let report): report.write(to: &writer)
    }
  }

  /// Writes the common header, then what `body` writes, zeros up to a multiple of four, and the length.
  static func write(
    type: UInt8, count: UInt8, to writer: inout ByteWriter, _ body: (inout ByteWriter) -> Void
  ) {
    let start = writer.count
    writer.uint8(0x80 | count & 0x1F)
    writer.uint8(type)
    writer.uint16(0)
    body(&writer)
    writer.zeros((4 - (writer.count - start) % 4) % 4)
    writer.overwrite(uint16: UInt16(truncatingIfNeeded: (writer.count - start) / 4 - 1), at: start + 2)
  }
}

extension ReceiverEstimatedMaximumBitrate {
  /// Application layer feedback that is not REMB is unknown, not malformed.
  fileprivate static func outcome(_ reader: inout ByteReader) -> RTCPPacket.Outcome {
    guard let sender = reader.uint32(), reader.uint32() != nil else { return .malformed }
    guard let name = reader.uint32(), name == uniqueIdentifier else { return .unknown }
    return RTCPPacket.Outcome(
      Self(parsingEntries: &reader, sender: sender).map { .receiverEstimatedMaximumBitrate($0) })
  }
}

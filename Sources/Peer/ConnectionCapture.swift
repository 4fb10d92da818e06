import Base
import RTP

/// What one peer connection adds to a capture: its packets, and before the first of a path what their payload
/// types mean.
@NetworkActor
final class ConnectionCapture {
  private let capture: PacketCapture
  private var local = CaptureAddress.unknown
  private var remote = CaptureAddress.unknown
  private var names: [UInt8: String] = [:]
  private var isDescribed = true

  init(_ capture: PacketCapture) { self.capture = capture }

  /// - Parameter ends: of the selected pair, as `type address:port`.
  func pathChanged(_ ends: (local: String, remote: String)?) {
    guard let local = ends.flatMap({ CaptureAddress(pairEnd: $0.local) }),
      let remote = ends.flatMap({ CaptureAddress(pairEnd: $0.remote) }),
      local.bytes.count == remote.bytes.count, local != self.local || remote != self.remote
    else { return }
    self.local = local
    self.remote = remote
    isDescribed = false
  }

  func streamsChanged(_ sent: [SendStreamConfiguration], _ received: [ReceiveStreamConfiguration]) {
    var names: [UInt8: String] = [:]
    for stream in sent {
      names[stream.payloadType] = Self.codec(stream.kind)
      if let rtx = stream.rtx { names[rtx.payloadType] = "rtx/90000" }
      if let redundant = stream.redundantPayloadType { names[redundant] = "red/48000/2" }
    }
    for stream in received {
      for type in stream.payloadTypes { names[type] = Self.codec(stream.kind) }
      for type in stream.rtxPayloadTypes.keys { names[type] = "rtx/90000" }
      if let redundant = stream.redundantPayloadType {
        names[redundant] = stream.kind == .audio ? "red/48000/2" : "red/90000"
      }
      if let parity = stream.parityPayloadType { names[parity] = "ulpfec/90000" }
    }
    guard names != self.names else { return }
    self.names = names
    isDescribed = false
  }

  private static func codec(_ kind: MediaKind) -> String { kind == .audio ? "opus/48000/2" : "VP8/90000" }

  func record(
    _ kind: CapturedPacket.Kind, _ bytes: [UInt8], _ direction: CapturedPacket.Direction, at now: Instant
  ) {
    if !isDescribed {
      isDescribed = true
      // Wireshark applies it to what is sent to the address in it.
      for direction in [CapturedPacket.Direction.outbound, .inbound] {
        put(.sdp, Array(description(of: direction == .outbound ? remote : local).utf8), direction, at: now)
      }
    }
    put(kind, bytes, direction, at: now)
  }

  private func put(
    _ kind: CapturedPacket.Kind, _ bytes: [UInt8], _ direction: CapturedPacket.Direction, at now: Instant
  ) {
    let isOut = direction == .outbound
    capture.record(
      CapturedPacket(
        kind, bytes, direction, time: capture.time(now), from: isOut ? local : remote,
        to: isOut ? remote : local))
  }

  private func description(of destination: CaptureAddress) -> String {
    let types = names.keys.sorted()
    let address = "IN IP\(destination.bytes.count == 16 ? 6 : 4) \(destination.text)"
    let lines =
      [
        "v=0", "o=- 0 0 \(address)", "s=-", "c=\(address)", "t=0 0",
        "m=video \(destination.port) RTP/AVP \(types.map(String.init).joined(separator: " "))",
      ] + types.map { "a=rtpmap:\($0) \(names[$0] ?? "")" }
    return lines.map { "\($0)\r\n" }.joined()
  }
}

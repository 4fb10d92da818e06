import Base
import OTKit

/// Finds streams of which nothing comes any more: a killed process, a pulled cable. Signalling takes much
/// longer to say so.
struct SilenceWatch {
  static let limit: Duration = .seconds(3)

  private struct Flow {
    var packets: Double
    var since: Instant
    var isSilent = false
  }

  private var flows: [String: Flow] = [:]

  /// - Returns: the streams that fell silent, and those that speak again, since the last time.
  mutating func update(_ statistics: Statistics, at now: Instant) -> [(streamID: String, isSilent: Bool)] {
    var changes: [(streamID: String, isSilent: Bool)] = []
    for subscriber in statistics.subscribers {
      let id = subscriber.streamID
      let packets = (subscriber.video["packetsReceived"] ?? 0) + (subscriber.audio["packetsReceived"] ?? 0)
      guard packets > 0 else { continue }
      guard var flow = flows[id], flow.packets == packets else {
        if flows[id]?.isSilent == true { changes.append((id, false)) }
        flows[id] = Flow(packets: packets, since: now)
        continue
      }
      if !flow.isSilent, now - flow.since >= Self.limit {
        flow.isSilent = true
        changes.append((id, true))
      }
      flows[id] = flow
    }
    return changes
  }

  mutating func forget(_ streamID: String) { flows[streamID] = nil }
}

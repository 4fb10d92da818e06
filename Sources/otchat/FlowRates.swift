import Base
import OTKit
import Participant
import Terminal

/// Rates from counters: what has been added since the last look.
struct FlowRates {
  private struct Counters {
    var bytes = 0.0
    var packets = 0.0
    var lost = 0.0
  }

  private var last: (time: Instant, counters: [String: Counters])?

  mutating func update(_ statistics: ParticipantStatistics, at now: Instant) -> CallStatistics {
    let session = statistics.session
    var counters: [String: Counters] = [:]
    var result = CallStatistics()
    // Size and rate are of the first stream; what goes over the line, and how it fares there, of all.
    if let publisher = session.publishers.first {
      let media = session.publishers.flatMap { [$0.video, $0.audio] }
      let sent = Counters(bytes: media.compactMap { $0["bytesSent"] }.reduce(0, +), packets: 0, lost: 0)
      counters["sent"] = sent
      result.sent = flow(publisher.video, publisher.audio, sent, last("sent"), now)
      result.sent.packetLoss = media.compactMap { $0["fractionLost"] }.max()
      result.sent.roundTripTime = media.compactMap { $0["roundTripTime"] }.max().map { .seconds($0) }
    }
    for subscriber in session.subscribers {
      let received = Counters(
        bytes: (subscriber.video["bytesReceived"] ?? 0) + (subscriber.audio["bytesReceived"] ?? 0),
        packets: (subscriber.video["packetsReceived"] ?? 0) + (subscriber.audio["packetsReceived"] ?? 0),
        lost: (subscriber.video["packetsLost"] ?? 0) + (subscriber.audio["packetsLost"] ?? 0))
      let id = subscriber.streamID
      counters[id] = received
      var flow = flow(subscriber.video, subscriber.audio, received, last(id), now)
      flow.roundTripTime = subscriber.transport["roundTripTime"].map { .seconds($0) }
      flow.endToEndLatency = subscriber.video["endToEndLatency"].map { .milliseconds($0) }
      flow.details = details(subscriber)
      result.received[id] = flow
    }
    result.details.append(CallDetail("memory", "\(statistics.rssBytes / 1_000_000) MB"))
    last = (now, counters)
    return result
  }

  private func last(_ name: String) -> (time: Instant, counters: Counters)? {
    guard let last, let counters = last.counters[name] else { return nil }
    return (last.time, counters)
  }

  private func flow(
    _ video: Metrics, _ audio: Metrics, _ new: Counters, _ old: (time: Instant, counters: Counters)?,
    _ now: Instant
  ) -> CallFlow {
    var flow = CallFlow(
      width: video["frameWidth"].flatMap { Int(exactly: $0) }.flatMap { $0 > 0 ? $0 : nil },
      height: video["frameHeight"].flatMap { Int(exactly: $0) }.flatMap { $0 > 0 ? $0 : nil },
      framesPerSecond: video["framesPerSecond"], audioLevel: audio["audioLevel"])
    guard let old, now > old.time else { return flow }
    flow.bitsPerSecond = max(0, new.bytes - old.counters.bytes) * 8 / (now - old.time).seconds
    let lost = max(0, new.lost - old.counters.lost)
    let expected = new.packets - old.counters.packets + lost
    flow.packetLoss = expected > 0 ? lost / expected : nil
    return flow
  }

  private func details(_ subscriber: Statistics.Subscriber) -> [CallDetail] {
    var details: [CallDetail] = []
    func add(_ name: String, _ value: Double?, _ text: (Double) -> String) {
      if let value, value.isFinite { details.append(CallDetail(name, text(value))) }
    }
    func whole(_ value: Double) -> String { "\(Int64(clamping: Int(exactly: value.rounded()) ?? 0))" }
    add("frames decoded", subscriber.video["framesDecoded"], whole)
    add("freezes", subscriber.video["freezeCount"], whole)
    add("retransmissions asked", subscriber.video["nackCount"], whole)
    add("key frames asked", subscriber.video["pliCount"], whole)
    add("concealed samples", subscriber.audio["concealedSamples"], whole)
    add("mos", subscriber.audio["mos"]) { $0.fixed(1) }
    if let local = subscriber.localCandidate, let remote = subscriber.remoteCandidate {
      details.append(CallDetail("path", "\(local) - \(remote)"))
    }
    return details
  }
}

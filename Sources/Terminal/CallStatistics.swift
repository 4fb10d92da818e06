import Base

/// Figures of one direction of one stream over the last second; nil where there is none.
package struct CallFlow: Equatable, Sendable {
  package var width: Int?
  package var height: Int?
  package var framesPerSecond: Double?
  package var bitsPerSecond: Double?
  /// 0–1.
  package var packetLoss: Double?
  /// dBFS.
  package var audioLevel: Double?
  package var roundTripTime: Duration?
  /// From the other's capture to here, for our own test pattern.
  package var endToEndLatency: Duration?
  /// Further figures for the overlay, in order.
  package var details: [CallDetail]

  package init(
    width: Int? = nil, height: Int? = nil, framesPerSecond: Double? = nil, bitsPerSecond: Double? = nil,
    packetLoss: Double? = nil, audioLevel: Double? = nil, roundTripTime: Duration? = nil,
    endToEndLatency: Duration? = nil, details: [CallDetail] = []
  ) {
    self.width = width
    self.height = height
    self.framesPerSecond = framesPerSecond
    self.bitsPerSecond = bitsPerSecond
    self.packetLoss = packetLoss
    self.audioLevel = audioLevel
    self.roundTripTime = roundTripTime
    self.endToEndLatency = endToEndLatency
    self.details = details
  }
}

/// A figure with its name, both as they are shown.
package struct CallDetail: Equatable, Sendable {
  package let name: String
  package let value: String

  package init(_ name: String, _ value: String) {
    self.name = name
    self.value = value
  }
}

package struct CallStatistics: Equatable, Sendable {
  /// Of each subscribed stream, by its id.
  package var received: [String: CallFlow]
  package var sent: CallFlow
  /// Further figures of the whole process, in order.
  package var details: [CallDetail]

  package init(
    received: [String: CallFlow] = [:], sent: CallFlow = CallFlow(), details: [CallDetail] = []
  ) {
    self.received = received
    self.sent = sent
    self.details = details
  }
}

/// The figures of the last minute: what sparklines are drawn from.
struct CallHistory: Equatable, Sendable {
  static let limit = 60

  private var flows: [PictureSource: [CallFlow]] = [:]

  /// To be called once a second. Streams of which there is nothing any more are forgotten.
  mutating func append(_ statistics: CallStatistics) {
    var new: [PictureSource: CallFlow] = [.own: statistics.sent]
    for (streamID, flow) in statistics.received { new[.stream(streamID)] = flow }
    flows = flows.filter { new[$0.key] != nil }
    for (source, flow) in new {
      var flow = flow
      flow.details = []
      var past = flows[source] ?? []
      past.append(flow)
      past.removeFirst(max(0, past.count - Self.limit))
      flows[source] = past
    }
  }

  /// One figure, oldest first.
  func values(of source: PictureSource, _ figure: (CallFlow) -> Double?) -> [Double?] {
    (flows[source] ?? []).map(figure)
  }
}

/// Who is speaking, from the levels of all that are heard.
struct ActiveSpeaker: Equatable, Sendable {
  /// Quieter is no speech, dBFS.
  static let threshold = -45.0
  /// By how much somebody has to be louder to take over, dB: laughter does not turn heads.
  static let margin = 6.0

  private(set) var streamID: String?

  /// Stays with the last speaker while nobody speaks.
  mutating func update(_ levels: [String: Double]) {
    if let streamID, levels[streamID] == nil { self.streamID = nil }
    // By id where two are equally loud, so that the choice does not flutter.
    guard
      let loudest = levels.max(by: { ($0.value, $1.key) < ($1.value, $0.key) }),
      loudest.value > Self.threshold
    else { return }
    let current = streamID.flatMap { levels[$0] } ?? -.infinity
    if current <= Self.threshold || loudest.value >= current + Self.margin { streamID = loudest.key }
  }
}

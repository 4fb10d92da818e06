import Base

extension OpenTokError {
  /// How long one stage of connecting took, or went on until it failed.
  public struct StageTime: Sendable, Hashable {
    public let stage: Stage
    public let seconds: Double

    package init(_ stage: Stage, _ duration: Duration) {
      self.stage = stage
      seconds = max(0, duration.seconds)
    }

    /// For people: `ICE 10.0 s`.
    package var text: String {
      seconds < 0.9995
        ? "\(stage.rawValue) \(Int((seconds * 1000).rounded())) ms"
        : "\(stage.rawValue) \(seconds.fixed(1)) s"
    }
  }
}

/// When the stages of one connection ended, for the error that it may end with. Told the time.
package struct StageClock: Sendable {
  private let began: Instant
  private var ends: [(stage: OpenTokError.Stage, time: Instant)] = []

  package init(at now: Instant) { began = now }

  /// The first time counts: a path that is made anew belongs to the media that it interrupts.
  package mutating func ended(_ stage: OpenTokError.Stage, at now: Instant) {
    if !ends.contains(where: { $0.stage == stage }) { ends.append((stage, now)) }
  }

  /// All stages in order, the one that failed last: once media was there, that one.
  package func failed(in stage: OpenTokError.Stage, at now: Instant) -> [OpenTokError.StageTime] {
    let failed = ends.contains { $0.stage == .dtls } ? .media : stage
    var times: [OpenTokError.StageTime] = []
    var last = began
    for (stage, end) in ends {
      if stage == failed { break }
      times.append(.init(stage, end - last))
      last = end
    }
    return times + [.init(failed, now - last)]
  }
}

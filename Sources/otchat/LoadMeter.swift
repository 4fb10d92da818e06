import Base
import OTKit
import OpenTokProtocol
import Participant
import Scenario

/// Collects what the participants of a load test got. Any thread.
final class LoadMeter: Sendable {
  private struct Member {
    /// When it began to join.
    var began = 0.0
    var joined: Double?
    var firstPicture: Double?
    var framesPerSecond: [Double] = []
    var latency: [Double] = []
    var lost = 0.0
    var received = 0.0
    var errors = 0
  }

  private struct State {
    var members: [String: Member] = [:]
    /// Of the process, at each look: when, CPU seconds, resident bytes.
    var process: [(time: Double, cpu: Double, rss: Int64)] = []
    /// From when on the participants are looked at.
    var holdsFrom = Double.infinity
    var now = 0.0
  }

  /// Median, tail and worst of some figures.
  struct Spread: Equatable {
    let median: Double
    let p95: Double
    let worst: Double

    /// Nil of nothing.
    init?(_ values: [Double], worstIsLeast: Bool = false) {
      guard !values.isEmpty else { return nil }
      let sorted = worstIsLeast ? values.sorted(by: >) : values.sorted()
      func quantile(_ share: Double) -> Double {
        sorted[min(sorted.count - 1, Int((Double(sorted.count) * share).rounded(.up)) - 1)]
      }
      (median, p95, worst) = (quantile(0.5), quantile(0.95), sorted[sorted.count - 1])
    }
  }

  private let state = Lock(State())
  private let subscribers: Set<String>
  private let total: Int
  /// When they leave.
  private let end: Double

  init(_ scenario: Scenario, subscribers: Set<String>) {
    self.subscribers = subscribers
    total = scenario.members.count
    end = scenario.duration.seconds
  }

  /// What a scenario tells.
  func take(_ name: String?, _ seconds: Double, _ event: ScenarioEvent) {
    guard let name else { return }
    state.withLock { state in
      state.now = max(state.now, seconds)
      var member = state.members[name] ?? Member()
      switch event {
      case .step: member.began = seconds
      case .joined:
        member.joined = seconds - member.began
        state.members[name] = member
        if state.members.values.count(where: { $0.joined != nil }) == total { state.holdsFrom = seconds + 1 }
      case .event(.session(.firstVideoFrame)):
        member.firstPicture = member.firstPicture ?? seconds - member.began
      case .event(.connectFailed), .event(.error), .event(.session(.error)): member.errors += 1
      case .event(.stats(let statistics)):
        // The last ones, on leaving, are not of all.
        if seconds >= state.holdsFrom, seconds < end {
          if subscribers.contains(name) { Self.note(statistics.session, &member) }
          state.process.append((seconds, statistics.cpuSeconds, statistics.rssBytes))
        }
      default: break
      }
      state.members[name] = member
    }
  }

  private static func note(_ statistics: Statistics, _ member: inout Member) {
    (member.lost, member.received) = (0, 0)
    for subscriber in statistics.subscribers {
      if let rate = subscriber.video["framesPerSecond"] { member.framesPerSecond.append(rate) }
      if let latency = subscriber.video["endToEndLatency"] { member.latency.append(latency) }
      for medium in [subscriber.audio, subscriber.video] {
        member.lost += medium["packetsLost"] ?? 0
        member.received += medium["packetsReceived"] ?? 0
      }
    }
  }

  /// The table's line while it runs.
  var line: String {
    let report = report
    let (now, joined) = state.withLock { state in
      (state.now, state.members.values.count { $0.joined != nil })
    }
    var parts = ["\(Int(now)) s", "joined \(joined)/\(total)"]
    if let rate = report.framesPerSecond { parts.append("fps \(Int(rate.median.rounded()))") }
    if let share = report.lossShare { parts.append("loss \((share * 100).rounded(to: 2)) %") }
    if let cores = report.cores { parts.append("CPU \((cores * 100).rounded(to: 1)) %") }
    if let rss = report.rssBytes { parts.append("memory \(rss / 1_000_000) MB") }
    return parts.joined(separator: "  ")
  }

  /// All of it so far.
  struct Report {
    var participants = 0
    var joined = 0
    var errors = 0
    /// Seconds.
    var joinTime: Spread?
    /// Seconds from beginning to join.
    var firstPicture: Spread?
    /// The worst is the least.
    var framesPerSecond: Spread?
    /// Milliseconds.
    var latency: Spread?
    var lossShare: Double?
    var packetsReceived = 0.0
    /// Of CPU, on average while all were there.
    var cores: Double?
    var rssBytes: Int64?
  }

  var report: Report {
    state.withLock { state in
      let members = Array(state.members.values)
      var report = Report()
      report.participants = total
      report.joined = members.count { $0.joined != nil }
      report.errors = members.map(\.errors).reduce(0, +)
      report.joinTime = Spread(members.compactMap(\.joined))
      report.firstPicture = Spread(members.compactMap(\.firstPicture))
      report.framesPerSecond = Spread(members.flatMap(\.framesPerSecond), worstIsLeast: true)
      report.latency = Spread(members.flatMap(\.latency))
      report.packetsReceived = members.map(\.received).reduce(0, +)
      let lost = members.map(\.lost).reduce(0, +)
      if report.packetsReceived + lost > 0 { report.lossShare = lost / (report.packetsReceived + lost) }
      if let first = state.process.first, let last = state.process.last, last.time - first.time >= 1 {
        report.cores = (last.cpu - first.cpu) / (last.time - first.time)
        report.rssBytes = last.rss
      }
      return report
    }
  }
}

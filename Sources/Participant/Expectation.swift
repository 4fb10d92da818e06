import OpenTokProtocol

/// What a call shall be like: `subscriber.video.framesPerSecond >= 15`, `event signal within 5s`.
///
///     expectation = ( "event" NAME | figure OPERATOR NUMBER ) [ "for" SECONDS ] [ "within" SECONDS ]
///     figure      = PATH | ( "median" | "mean" | "min" | "max" | "p95" ) "(" PATH ")"
package struct Expectation: Sendable, Equatable {
  enum Operator: String, CaseIterable, Sendable {
    case lessOrEqual = "<="
    case greaterOrEqual = ">="
    case equal = "=="
    case notEqual = "!="
    case less = "<"
    case greater = ">"

    func holds(_ left: Double, _ right: Double) -> Bool {
      switch self {
      case .less: left < right
      case .lessOrEqual: left <= right
      case .equal: left == right
      case .notEqual: left != right
      case .greaterOrEqual: left >= right
      case .greater: left > right
      }
    }
  }

  /// One figure out of all samples of a call.
  enum Summary: String, CaseIterable, Sendable {
    case median, mean, min, max, p95

    /// - Parameter values: at least one.
    func value(of values: [Double]) -> Double {
      let sorted = values.sorted()
      func quantile(_ share: Double) -> Double {
        sorted[Swift.min(sorted.count - 1, Int((Double(sorted.count) * share).rounded(.up)) - 1)]
      }
      return switch self {
      case .median: quantile(0.5)
      case .p95: quantile(0.95)
      case .mean: sorted.reduce(0, +) / Double(sorted.count)
      case .min: sorted[0]
      case .max: sorted[sorted.count - 1]
      }
    }
  }

  enum Condition: Equatable, Sendable {
    case event(String)
    case figure(path: [String], summary: Summary?, Operator, Double)
  }

  /// As it was written.
  package let text: String
  let condition: Condition
  /// The condition has to hold so long at a stretch, in seconds.
  let held: Double?
  /// Seconds after being connected.
  let limit: Double?

  /// Whether it is decided in a limited time, and not by the last figures.
  package var isLimited: Bool { limit != nil }
}

/// Figures of one moment: the session's statistics and what has been counted.
struct ExpectationSample {
  var statistics: JSON
  /// How often each event has come.
  var events: [String: Int] = [:]
  var streams = 0

  /// Nil if there is none of that name now.
  func value(at path: [String]) -> Double? {
    switch path {
    case ["subscribers", "count"]: return Double(statistics["subscribers"]?.arrayValue?.count ?? 0)
    case ["streams", "count"]: return Double(streams)
    case ["signals", "count"]: return Double(events["signal"] ?? 0)
    default: break
    }
    if path.count == 3, path[0] == "events", path[2] == "count" { return Double(events[path[1]] ?? 0) }
    return place(path)?.doubleValue
  }

  /// The names beside the last one that exists on the way.
  func names(near path: [String]) -> [String] {
    for count in stride(from: path.count - 1, through: 1, by: -1) {
      if let object = place(Array(path.prefix(count)))?.objectValue { return object.keys }
    }
    return []
  }

  private func place(_ path: [String]) -> JSON? {
    var place = statistics
    for (index, name) in path.enumerated() {
      let next: JSON?
      if index == 0, name == "subscriber" {
        next = place["subscribers"]?.arrayValue?.first
      } else if let list = place.arrayValue {
        next = Int(name).flatMap { list.indices.contains($0) ? list[$0] : nil }
      } else {
        next = place[name]
      }
      guard let next else { return nil }
      place = next
    }
    return place
  }
}

/// Whether queues on the way grow: the slope of the one-way delay over the last groups of packets,
/// compared with a threshold that adapts to competing traffic (draft-ietf-rmcat-gcc-02, 5.3 and 5.4).
struct TrendlineEstimator {
  enum Usage {
    case normal, over, under
  }

  private static let window = 20
  /// A start that is much too fast must not fill a queue for a whole window.
  private static let minimumPoints = 10
  private static let smoothing = 0.9
  private static let gain = 4.0
  private static let maximumDeltas = 60
  private static let overuseTime = 10.0
  private static let thresholds = 6.0...600.0

  private(set) var usage = Usage.normal
  private var points: [(time: Double, delay: Double)] = []
  private var firstArrival: Double?
  private var accumulated = 0.0
  private var smoothed = 0.0
  private var deltas = 0
  private var threshold = 12.5
  private var lastThresholdUpdate: Double?
  private var overuse: (time: Double, count: Int)?
  private var previousTrend = 0.0

  mutating func add(_ delta: ArrivalGroups.Delta) {
    deltas = min(deltas + 1, 1000)
    let first = firstArrival ?? delta.arrivalTime
    firstArrival = first
    accumulated += delta.arrival - delta.send
    smoothed = Self.smoothing * smoothed + (1 - Self.smoothing) * accumulated
    points.append((delta.arrivalTime - first, smoothed))
    if points.count > Self.window { points.removeFirst() }
    let trend = points.count >= Self.minimumPoints ? slope() ?? previousTrend : previousTrend
    detect(trend, sendDelta: delta.send, at: delta.arrivalTime)
  }

  /// Least squares.
  private func slope() -> Double? {
    let count = Double(points.count)
    let meanTime = points.reduce(0) { $0 + $1.time } / count
    let meanDelay = points.reduce(0) { $0 + $1.delay } / count
    var numerator = 0.0
    var denominator = 0.0
    for point in points {
      numerator += (point.time - meanTime) * (point.delay - meanDelay)
      denominator += (point.time - meanTime) * (point.time - meanTime)
    }
    return denominator > 0 ? numerator / denominator : nil
  }

  private mutating func detect(_ trend: Double, sendDelta: Double, at time: Double) {
    guard deltas >= 2 else { return }
    let modified = Double(min(deltas, Self.maximumDeltas)) * trend * Self.gain
    if modified > threshold {
      let over = overuse.map { ($0.time + sendDelta, $0.count + 1) } ?? (sendDelta / 2, 1)
      overuse = over
      if over.0 > Self.overuseTime, over.1 > 1, trend >= previousTrend {
        overuse = (0, 0)
        usage = .over
      }
    } else {
      overuse = nil
      usage = modified < -threshold ? .under : .normal
    }
    previousTrend = trend
    adaptThreshold(to: abs(modified), at: time)
  }

  private mutating func adaptThreshold(to value: Double, at time: Double) {
    defer { lastThresholdUpdate = time }
    // A sudden jump (a change of route, a handover) must not spoil it.
    guard value <= threshold + 15 else { return }
    let elapsed = min(max(0, time - (lastThresholdUpdate ?? time)), 100)
    let speed = value < threshold ? 0.039 : 0.0087
    threshold += speed * (value - threshold) * elapsed
    threshold = min(max(threshold, Self.thresholds.lowerBound), Self.thresholds.upperBound)
  }
}

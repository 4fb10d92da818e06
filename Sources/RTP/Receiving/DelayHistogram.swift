/// A histogram of delays that forgets, for quantiles of how late things come.
struct DelayHistogram {
  /// Seconds a bucket.
  let resolution: Double
  private let growth: Double
  private var buckets: [Double]
  private var total = 0.0
  /// New samples weigh more and more instead of old ones less and less.
  private var weight = 1.0

  /// - Parameter memory: the number of samples after which one weighs 1/e.
  init(resolution: Double, maximum: Double, memory: Double) {
    self.resolution = resolution
    growth = 1 + 1 / memory
    buckets = Array(repeating: 0, count: max(1, Int(maximum / resolution) + 1))
  }

  mutating func add(_ delay: Double) {
    let index = delay > 0 ? min(buckets.count - 1, Int(min(delay / resolution, 1e6))) : 0
    buckets[index] += weight
    total += weight
    weight *= growth
    guard weight > 1e12 else { return }
    for index in buckets.indices { buckets[index] /= weight }
    total /= weight
    weight = 1
  }

  /// The upper end of the bucket below which this share of the samples lies; 0 without samples.
  func quantile(_ share: Double) -> Double {
    guard total > 0 else { return 0 }
    var rest = total * (1 - share)
    var index = buckets.count
    while index > 0, rest >= 0 {
      index -= 1
      rest -= buckets[index]
    }
    return Double(index + 1) * resolution
  }

  /// The delay at which delay and loss together are least, if completeness is worth so many seconds: what
  /// comes later than it is lost.
  func optimum(worth: Double) -> Double {
    guard total > 0 else { return 0 }
    var late = 0.0
    var best = (delay: 0.0, cost: Double.infinity)
    for index in buckets.indices.reversed() {
      let delay = Double(index + 1) * resolution
      let cost = delay + worth * late / total
      if cost < best.cost { best = (delay, cost) }
      late += buckets[index]
    }
    return best.delay
  }

  mutating func removeAll() {
    for index in buckets.indices { buckets[index] = 0 }
    total = 0
    weight = 1
  }
}

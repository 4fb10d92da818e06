/// How long something took, in the buckets of a Prometheus histogram.
struct DurationHistogram {
  /// Upper bounds, in seconds.
  private static let bounds = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5]

  private var counts = [Int](repeating: 0, count: bounds.count)
  private var count = 0
  private var sum = Duration.zero

  mutating func add(_ duration: Duration) {
    count += 1
    sum += duration
    guard let bucket = Self.bounds.firstIndex(where: { duration.seconds <= $0 }) else { return }
    counts[bucket] += 1
  }

  /// In the exposition format: buckets add up.
  func lines(_ name: String) -> [String] {
    var total = 0
    var lines: [String] = []
    for (bound, count) in zip(Self.bounds, counts) {
      total += count
      lines.append("\(name)_bucket{le=\"\(bound)\"} \(total)")
    }
    return lines + [
      "\(name)_bucket{le=\"+Inf\"} \(count)", "\(name)_sum \(sum.seconds)", "\(name)_count \(count)",
    ]
  }
}

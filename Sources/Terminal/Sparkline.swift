/// Figures over time as a row of bars.
enum Sparkline {
  private static let bars = Array("▁▂▃▄▅▆▇█")

  /// One character a value, the newest at the right; of too many the newest are shown.
  ///
  /// - Parameters:
  ///   - values: nil and what is no number leaves a gap.
  ///   - least: the top of the scale is the greatest value, but at least this: noise is not blown up.
  static func text(_ values: [Double?], columns: Int, least: Double) -> String {
    let shown = values.suffix(max(0, columns)).map { $0.flatMap { $0.isFinite ? max(0, $0) : nil } }
    let top = max(least, shown.compactMap { $0 }.max() ?? 0)
    let line = shown.map { value -> Character in
      guard let value, top > 0 else { return " " }
      return bars[min(bars.count - 1, Int(value / top * Double(bars.count)))]
    }
    return String(repeating: " ", count: max(0, columns - line.count)) + String(line)
  }
}

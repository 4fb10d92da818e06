extension Int {
  /// The nearest whole number in the range; its lower bound for what is no number.
  package init(_ value: Double, in range: ClosedRange<Int>) {
    if value >= Double(range.upperBound) {
      self = range.upperBound
    } else {
      self = value > Double(range.lowerBound) ? Int(value) : range.lowerBound
    }
  }
}

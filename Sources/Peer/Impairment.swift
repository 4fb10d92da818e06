/// What one direction of a participant's network does to datagrams.
package struct Impairment: Sendable, Equatable {
  /// Share of datagrams that never arrive, 0 to 1.
  package var loss = 0.0
  package var delay = Duration.zero
  /// Up to so much more delay, evenly distributed. Order is kept.
  package var jitter = Duration.zero
  /// Bits per second of the bottleneck; nil: none.
  package var rate: Int?
  /// How long a datagram may wait for the bottleneck; one that would wait longer is dropped.
  package var queue = Duration.milliseconds(300)

  package init() {}

  /// Everything passes at once.
  package var isTransparent: Bool { loss == 0 && delay == .zero && jitter == .zero && rate == nil }
}

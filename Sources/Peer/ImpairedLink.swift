import Base

/// The bad network between one participant and everybody else: all its peer connections share it, as they
/// would share its access line. It stands between SRTP and ICE, so that no privilege is needed; ICE's own
/// messages and signalling pass unharmed.
@NetworkActor
package final class ImpairedLink {
  package struct Statistics: Sendable, Equatable {
    package var lostOutbound = 0
    package var lostInbound = 0
    package var passedOutbound = 0
    package var passedInbound = 0
  }

  private struct Outbound {
    let send: (UnsafeRawBufferPointer) -> Bool
  }

  private struct Inbound {
    let receive: (UnsafeMutableRawBufferPointer, Instant) -> Void
  }

  private let seed: UInt64
  private lazy var outbound = ImpairedQueue<Outbound>(seed: seed)
  private lazy var inbound = ImpairedQueue<Inbound>(seed: seed ^ 0x5DEE_CE66_D1CE_4E5B)
  private var timer: NetworkTimer?

  /// - Parameter seed: makes losses and jitter repeatable.
  package nonisolated init(seed: UInt64) { self.seed = seed }

  /// From now on; what is under way arrives as it would have.
  package func set(outbound: Impairment, inbound: Impairment) {
    self.outbound.impairment = outbound
    self.inbound.impairment = inbound
  }

  package var statistics: Statistics {
    Statistics(
      lostOutbound: outbound.lost, lostInbound: inbound.lost, passedOutbound: outbound.passed,
      passedInbound: inbound.passed)
  }

  /// - Parameter transmit: really sends a datagram.
  /// - Returns: what `transmit` says; true for what is kept or lost on the way.
  func send(
    _ datagram: UnsafeRawBufferPointer, by transmit: @escaping (UnsafeRawBufferPointer) -> Bool
  ) -> Bool {
    if outbound.impairment.isTransparent, outbound.isEmpty { return transmit(datagram) }
    outbound.add(datagram, Outbound(send: transmit), at: MonotonicClock.now())
    schedule()
    return true
  }

  /// - Parameter receive: takes a datagram in; may write to its memory.
  func receive(
    _ datagram: UnsafeMutableRawBufferPointer, at now: Instant,
    by receive: @escaping (UnsafeMutableRawBufferPointer, Instant) -> Void
  ) {
    if inbound.impairment.isTransparent, inbound.isEmpty { return receive(datagram, now) }
    inbound.add(UnsafeRawBufferPointer(datagram), Inbound(receive: receive), at: now)
    schedule()
  }

  private func schedule() {
    let timer = timer ?? NetworkTimer { [weak self] in self?.deliver() }
    self.timer = timer
    timer.set([outbound.deadline, inbound.deadline].compactMap { $0 }.min())
  }

  private func deliver() {
    let now = MonotonicClock.now()
    while let datagram = outbound.next(at: now) {
      _ = datagram.bytes.withUnsafeBytes { datagram.route.send($0) }
    }
    while let datagram = inbound.next(at: now) {
      var bytes = datagram.bytes
      bytes.withUnsafeMutableBytes { datagram.route.receive($0, now) }
    }
    schedule()
  }
}

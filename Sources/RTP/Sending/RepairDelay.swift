import Base

/// How long a receiver should keep pictures back so that what is lost can be repaired before they are due:
/// the minimum of the playout-delay header extension. Receivers that think of other protection (as browsers
/// do once ULPFEC was offered) show incomplete pictures too early by themselves.
struct RepairDelay {
  /// Shares of lost packets from which one round of repair, and a second one, are waited for.
  private static let considerableLoss = (one: 0.02, two: 0.15)
  /// On quick paths repair is in time anyway.
  private static let quick = Duration.milliseconds(30)
  /// A loss is noticed with the next picture.
  private static let notice = Duration.milliseconds(40)
  private static let maximum = Duration.milliseconds(500)
  private static let patience = Duration.seconds(5)

  /// Zero while nothing much is lost.
  private(set) var minimum = Duration.zero
  private var lastNeeded = Instant(nanoseconds: .min)

  /// - Parameter loss: 0...1.
  mutating func update(loss: Double, roundTripTime: Duration, at now: Instant) {
    let rounds = loss > Self.considerableLoss.two ? 2 : loss > Self.considerableLoss.one ? 1 : 0
    let wanted =
      rounds == 0 || roundTripTime < Self.quick
      ? Duration.zero : min(Self.maximum, roundTripTime * rounds + Self.notice)
    if wanted >= minimum - .milliseconds(20) {
      lastNeeded = now
      if wanted > minimum + .milliseconds(20) { minimum = wanted }
    } else if now - lastNeeded > Self.patience {
      minimum = wanted
    }
  }

  /// Two times 12 bits of 10 ms: the least and the most.
  var extensionValue: UInt32 { UInt32(minimum.milliseconds / 10) << 12 | 0xFFF }
}

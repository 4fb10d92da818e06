import Base

/// OpenTok's audio fallback, for one subscriber of a published stream: where the path carries too little for
/// a picture, the picture goes so that the sound stays whole, and comes back when there is room for it.
///
/// No clock: it is told the time with what congestion control has found out, a few times a second.
package struct AudioFallback {
  /// Names are OpenTok's.
  package enum Change: String, Sendable {
    case videoDisableWarning, videoDisableWarningLifted, videoDisabled, videoEnabled
  }

  /// Bits per second for everything, packets with their overhead: below `tooLittle` the picture goes, below
  /// `scarce` that is threatened, from `enough` on all is well again.
  static let (tooLittle, scarce, enough) = (150_000, 200_000, 230_000)
  /// Shares of lost packets, 0...1: from the first on no picture is worth sending, below the second it is.
  static let (tooLossy, whole) = (0.4, 0.2)
  static let warnedAfter = Duration.milliseconds(1500)
  static let disabledAfter = Duration.seconds(3)
  static let liftedAfter = Duration.seconds(3)
  /// At first; doubled each time the picture had to go again soon after it had come back.
  static let enabledAfter = Duration.seconds(2)
  static let maximumEnabledAfter = Duration.seconds(32)
  /// Where nobody can find out without a picture whether there is room for one, it is tried.
  static let triedAfter = Duration.seconds(20)
  /// A picture that stays for so long was rightly brought back.
  private static let proof = Duration.seconds(30)
  /// Share of what is left for the picture that it takes if that is what limits it.
  private static let limited = 0.5
  private static let window = Duration.seconds(2)

  private enum State {
    case normal, warned, disabled
  }

  private var state = State.normal
  /// Since when a change has been called for, on end.
  private var poorSince: Instant?
  private var scarceSince: Instant?
  private var goodSince: Instant?
  private var disabledSince = Instant.zero
  private var enabledSince: Instant?
  /// `enabledAfter` times this is how long the path has to be good.
  private var caution = 1
  /// What the picture took, over `window`.
  private var samples: [(bytes: Int, at: Instant)] = []
  /// When pictures last had to wait.
  private var lastHeld: Instant?

  package init() {}

  /// Whether the picture is kept back.
  package var isDisabled: Bool { state == .disabled }

  /// - Parameter conditions: nil while the path is down: then nothing is known.
  package mutating func update(_ conditions: SendingConditions?, at now: Instant) -> Change? {
    guard let conditions, conditions.isAnswered else {
      forget()
      return nil
    }
    let isLimited = isLimited(conditions, at: now)
    let isPoor = conditions.availableBitrate < Self.tooLittle || conditions.loss >= Self.tooLossy
    let isScarce = conditions.availableBitrate < Self.scarce || conditions.loss >= Self.tooLossy
    let isGood = conditions.availableBitrate >= Self.enough && conditions.loss < Self.whole
    Self.note(isPoor && isLimited, &poorSince, now)
    Self.note(isScarce && isLimited, &scarceSince, now)
    Self.note(isGood || state != .disabled && !isLimited, &goodSince, now)
    switch state {
    case .normal:
      guard Self.lasts(scarceSince, Self.warnedAfter, now) else { return nil }
      state = .warned
      return .videoDisableWarning
    case .warned:
      if Self.lasts(poorSince, Self.disabledAfter, now) {
        disable(at: now)
        return .videoDisabled
      }
      guard Self.lasts(goodSince, Self.liftedAfter, now) else { return nil }
      state = .normal
      return .videoDisableWarningLifted
    case .disabled:
      let patience = min(Self.enabledAfter * caution, Self.maximumEnabledAfter)
      let isTrial = !conditions.canProbe && now - disabledSince >= Self.triedAfter * caution
      guard isTrial || Self.lasts(goodSince, patience, now) else { return nil }
      enable(at: now)
      return .videoEnabled
    }
  }

  private mutating func disable(at now: Instant) {
    state = .disabled
    disabledSince = now
    goodSince = nil
    let wasInVain = enabledSince.map { now - $0 < Self.proof } ?? false
    caution = wasInVain ? min(caution * 2, 16) : 1
  }

  private mutating func enable(at now: Instant) {
    state = .normal
    enabledSince = now
    forget()
  }

  private mutating func forget() {
    (poorSince, scarceSince, goodSince) = (nil, nil, nil)
    samples = []
    lastHeld = nil
  }

  /// Whether it is the network that keeps the picture small. An estimate that is low because little is sent,
  /// as of a camera that is off or a screen that stands still, says nothing.
  private mutating func isLimited(_ conditions: SendingConditions, at now: Instant) -> Bool {
    samples.append((conditions.videoBytesSent, now))
    while samples.count > 1, now - samples[1].at >= Self.window { samples.removeFirst() }
    if conditions.isHeld { lastHeld = now }
    if let lastHeld, now - lastHeld < Self.window { return true }
    guard let first = samples.first, now > first.at else { return false }
    let rate = Double((conditions.videoBytesSent - first.bytes) * 8) / (now - first.at).seconds
    return rate >= Self.limited * Double(conditions.videoTarget)
  }

  private static func note(_ holds: Bool, _ since: inout Instant?, _ now: Instant) {
    since = holds ? since ?? now : nil
  }

  private static func lasts(_ since: Instant?, _ duration: Duration, _ now: Instant) -> Bool {
    since.map { now - $0 >= duration } ?? false
  }
}

import Base
import OTKit
import TestSupport
import Testing

@testable import Participant

@Suite struct RejoiningPlanTests {
  private static let refusedSocket = OpenTokError.connectionRefused(host: "h", port: 1)
  private static let refusedToken = OpenTokError.connectRefused(status: 403, reason: "")

  private var now = Instant(nanoseconds: 1_000_000_000)
  private var generator = SeededGenerator(seed: 1)
  private var plan = RejoiningPlan(limit: .seconds(600))

  private mutating func next(_ failure: OpenTokError?, canRenew: Bool = true) -> RejoiningPlan.Step {
    plan.next(after: failure, canRenew: canRenew, at: now, using: &generator)
  }

  @Test mutating func theFirstAttemptIsMadeAtOnceTheOthersEverLaterUntilTheLimit() {
    plan.entered(at: now)
    now += .seconds(100)
    plan.lost(at: now)
    let began = now
    // The session itself looked for a way back first.
    now += .seconds(90)
    plan.lost(at: now)
    var step = next(nil)
    #expect(step == .attempt(after: .zero, renewsToken: false))
    var pauses: [Double] = []
    while pauses.count < 1000 {
      step = next(Self.refusedSocket)
      guard case .attempt(let pause, false) = step else { break }
      pauses.append(pause.seconds)
      now += pause
    }
    #expect(step == .giveUp(.connectionLost(detail: Self.refusedSocket.message)))
    for (pause, most) in zip(pauses, [1.0, 2, 4] + Array(repeating: 8, count: 997)) {
      #expect(pause >= most * 0.75 && pause <= most)
    }
    #expect((now - began).seconds > 592 && (now - began).seconds <= 600)
    #expect(plan.since == began)
  }

  @Test mutating func aRefusedTokenIsReplacedOnceIfSomebodyCanBeAsked() {
    plan.lost(at: now)
    var step = next(nil)
    step = next(Self.refusedToken)
    #expect(step == .attempt(after: .zero, renewsToken: true))
    // The app server did not answer: it is asked again the next time.
    step = next(Self.refusedSocket)
    guard case .attempt(_, renewsToken: false) = step else { return #expect(Bool(false), "\(step)") }
    step = next(.tokenExpired(secondsAgo: 3))
    #expect(step == .attempt(after: .zero, renewsToken: true))
    plan.renewed()
    step = next(Self.refusedToken)
    #expect(step == .giveUp(Self.refusedToken))
  }

  @Test mutating func whatCannotGetBetterIsTheEnd() {
    plan.lost(at: now)
    for (failure, isFinal) in [
      (OpenTokError.tokenExpired(secondsAgo: 3), true), (.noRelay, true), (Self.refusedToken, true),
      (.invalidParameter("x"), true), (Self.refusedSocket, false),
      (.httpStatus(url: "u", status: 502), false),
      (.htmlAnswer(url: "u"), false), (.timedOut(.joining, seconds: 10), false),
      (.connectionLimitExceeded, false),
    ] {
      let step = next(failure, canRenew: false)
      #expect((step == .giveUp(failure)) == isFinal, "\(failure)")
    }
  }

  /// A server that lets us in and drops us at once is not asked ever again without a pause.
  @Test mutating func aSessionThatDoesNotLastBelongsToTheOutage() {
    plan.entered(at: now)
    now += .seconds(60)
    plan.lost(at: now)
    let began = now
    var step = next(nil)
    #expect(step == .attempt(after: .zero, renewsToken: false))
    for most in [1.0, 2, 4, 8, 8] {
      plan.entered(at: now)
      now += .seconds(9)
      plan.lost(at: now)
      step = next(nil)
      guard case .attempt(let pause, false) = step else { return #expect(Bool(false), "\(step)") }
      #expect(pause.seconds >= most * 0.75 && pause.seconds <= most)
    }
    #expect(plan.since == began)
    plan.entered(at: now)
    now += .seconds(10)
    plan.lost(at: now)
    #expect(plan.since == now)
    step = next(nil)
    #expect(step == .attempt(after: .zero, renewsToken: false))
  }

  @Test func onlyLossesAreMadeGood() {
    #expect(RejoiningPlan.isLoss(.connectionForgotten) && RejoiningPlan.isLoss(.connectionLost(detail: "")))
    #expect(!RejoiningPlan.isLoss(.sessionEnded) && !RejoiningPlan.isLoss(.forceDisconnected))
  }
}

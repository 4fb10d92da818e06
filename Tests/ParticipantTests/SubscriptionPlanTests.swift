import Testing

@testable import Participant

@Suite struct SubscriptionPlanTests {
  @Test func policiesAreParsed() {
    #expect(SubscriptionPolicy(parsing: "first") == .first)
    #expect(SubscriptionPolicy(parsing: "all") == .all)
    #expect(SubscriptionPolicy(parsing: "self") == .own)
    #expect(SubscriptionPolicy(parsing: "none") == SubscriptionPolicy.none)
    #expect(SubscriptionPolicy(parsing: "name:a:b") == .named("a:b"))
    #expect(SubscriptionPolicy(parsing: "second") == nil)
  }

  @Test func theFirstIsTakenAndThenTheNextThereIs() {
    var plan = SubscriptionPlan(.first)
    #expect(plan.streamCreated("own", name: "me", isOwn: true) == [])
    #expect(plan.streamCreated("a", name: "a", isOwn: false) == [.subscribe("a")])
    #expect(plan.streamCreated("b", name: "b", isOwn: false) == [])
    #expect(plan.streamCreated("c", name: "c", isOwn: false) == [])
    #expect(plan.streamDestroyed("b") == [])
    #expect(plan.streamDestroyed("a") == [.subscribe("c")])
    #expect(plan.streamDestroyed("c") == [])
    #expect(plan.streamCreated("d", name: "d", isOwn: false) == [.subscribe("d")])
  }

  @Test func aStreamThatCannotBeHadIsNotTakenAgain() {
    var plan = SubscriptionPlan(.first)
    _ = plan.streamCreated("a", name: "a", isOwn: false)
    _ = plan.streamCreated("b", name: "b", isOwn: false)
    #expect(plan.failed("a") == [.subscribe("b")])
    #expect(plan.failed("b") == [])
  }

  @Test func noMoreAreTakenThanCanBeBorne() {
    var plan = SubscriptionPlan(.all)
    let taken = (0..<1_000).flatMap { plan.streamCreated("\($0)", name: "", isOwn: false) }
    #expect(taken.count == SubscriptionPlan.maximum)
    #expect(plan.streamDestroyed("7") == [.subscribe("\(SubscriptionPlan.maximum)")])
    #expect(plan.streamDestroyed("999") == [])
  }

  @Test func nextGoesRound() {
    var plan = SubscriptionPlan(.first)
    _ = plan.streamCreated("a", name: "a", isOwn: false)
    #expect(plan.next() == [])
    _ = plan.streamCreated("b", name: "b", isOwn: false)
    #expect(plan.next() == [.unsubscribe("a"), .subscribe("b")])
    #expect(plan.next() == [.unsubscribe("b"), .subscribe("a")])
    #expect(plan.streamDestroyed("a") == [.subscribe("b")])
  }

  @Test func othersFollowTheirNames() {
    var all = SubscriptionPlan(.all)
    #expect(all.streamCreated("a", name: "", isOwn: false) == [.subscribe("a")])
    #expect(all.streamCreated("b", name: "", isOwn: false) == [.subscribe("b")])
    #expect(all.streamCreated("b", name: "", isOwn: false) == [])
    #expect(all.streamCreated("o", name: "", isOwn: true) == [])
    var own = SubscriptionPlan(.own)
    #expect(own.streamCreated("a", name: "", isOwn: false) == [])
    #expect(own.streamCreated("o", name: "", isOwn: true) == [.subscribe("o")])
    var named = SubscriptionPlan(.named("eve"))
    #expect(named.streamCreated("a", name: "adam", isOwn: false) == [])
    #expect(named.streamCreated("e", name: "eve", isOwn: false) == [.subscribe("e")])
    var none = SubscriptionPlan(.none)
    #expect(none.streamCreated("a", name: "a", isOwn: false) == [])
  }
}

import Base
import OpenTokProtocol
import Testing

@testable import OTKit
@testable import Participant

@Suite struct ExpectationParserTests {
  @Test func allForms() throws {
    let plain = try Expectation(parsing: "subscriber.video.framesPerSecond >= 15")
    #expect(
      plain.condition
        == .figure(path: ["subscriber", "video", "framesPerSecond"], summary: nil, .greaterOrEqual, 15))
    #expect(plain.held == nil && plain.limit == nil)
    let event = try Expectation(parsing: "event signal within 5s")
    #expect(event.condition == .event("signal") && event.limit == 5)
    let held = try Expectation(parsing: "publisher.audio.audioLevel>-40 within 10 for 2.5s")
    #expect(held.held == 2.5 && held.limit == 10)
    let median = try Expectation(parsing: "median( subscribers.1.video.endToEndLatency )<=60")
    #expect(
      median.condition
        == .figure(
          path: ["subscribers", "1", "video", "endToEndLatency"], summary: .median, .lessOrEqual, 60))
    #expect(
      try Expectation(parsing: "events.streamCreated.count == 2").text == "events.streamCreated.count == 2")
  }

  @Test(arguments: [
    ("", 1, "'event NAME'"), ("event", 6, "name of an event"), ("event sginal", 7, "'sginal'"),
    ("subscriber.video.framesPerSecond", 33, "<="), ("subscriber.video.framesPerSecond >=", 36, "number"),
    ("subscriber.video.framesPerSecond >= x", 37, "number"), ("fps > 3", 1, "'fps'"),
    ("subscribr.video.x > 3", 1, "'subscribr'"), ("p96(publisher.video.x) > 3", 1, "p95"),
    ("p95(publisher.video.x > 3", 23, "')'"), ("subscribers.count == 1 please", 24, "'please'"),
    ("event signal for 3s", 1, "'for'"), ("subscribers.count == 1 within soon", 31, "seconds"),
    ("events.sginal.count == 1", 8, "'sginal'"), ("median(publisher.video.x) > 3 within 2s", 1, "whole call"),
    ("subscribers.count == 1 !", 24, "'!'"), ("subscriber..x > 1", 1, "no figure"),
  ])
  func faultsPointAtTheCharacter(text: String, position: Int, word: String) {
    #expect {
      try Expectation(parsing: text)
    } throws: { error in
      guard let error = error as? ExpectationError else { return false }
      return error.position == position && error.message.contains(word)
    }
  }
}

@Suite struct ExpectationMonitorTests {
  private let start = Instant(nanoseconds: 5_000_000_000)

  private func statistics(framesPerSecond: Double?) -> JSON {
    guard let framesPerSecond else { return ["publisher": .null, "subscribers": .array([])] }
    let subscriber: JSON = ["streamId": "s", "video": ["framesPerSecond": .number(framesPerSecond)]]
    return ["publisher": .null, "subscribers": .array([subscriber])]
  }

  private func monitor(_ texts: String...) throws -> ExpectationMonitor {
    var monitor = ExpectationMonitor(try texts.map { try Expectation(parsing: $0) })
    let connection = Connection(ConnectionInfo(id: "c", creationTime: 0))
    monitor.received(.session(.sessionConnected(sessionID: "1", connection)), at: start)
    return monitor
  }

  /// One sample a second.
  private func run(_ monitor: inout ExpectationMonitor, _ values: [Double?]) {
    for (second, value) in values.enumerated() {
      monitor.sampled(statistics(framesPerSecond: value), at: start + .seconds(second + 1))
    }
  }

  private static let rate = "subscriber.video.framesPerSecond"

  @Test func theLastSampleDecides() throws {
    var monitor = try monitor("\(Self.rate) >= 15", "\(Self.rate) < 15", "subscribers.count == 1")
    run(&monitor, [30, 30, 12])
    #expect(!monitor.isDecided)
    let results = monitor.end(at: start + .seconds(4))
    #expect(results.map(\.passed) == [false, true, true])
    #expect(results[0].actual == 12 && results[0].reason == "it is 12")
  }

  @Test func summariesAreOfAllSamples() throws {
    var monitor = try monitor(
      "median(\(Self.rate)) == 30", "p95(\(Self.rate)) == 40", "min(\(Self.rate)) == 1",
      "mean(\(Self.rate)) > 25",
      "max(\(Self.rate)) < 40")
    run(&monitor, [nil, 1] + Array(repeating: 30, count: 17) + [40, 40])
    #expect(monitor.end(at: start + .seconds(30)).map(\.passed) == [true, true, true, true, false])
  }

  @Test func heldForSecondsAtAStretch() throws {
    var monitor = try monitor("\(Self.rate) >= 25 for 3s", "\(Self.rate) >= 25 for 3s within 5s")
    run(&monitor, [30, 30, 10, 30, 30, 30])
    #expect(!monitor.isDecided)
    monitor.sampled(statistics(framesPerSecond: 30), at: start + .seconds(7))
    #expect(monitor.isDecided)
    let results = monitor.end(at: start + .seconds(7))
    #expect(results.map(\.passed) == [true, false])
    #expect(results[1].reason == "not within 5 s: it is 30")
  }

  @Test func eventsInTimeAndLate() throws {
    var monitor = try monitor(
      "event signal within 5s", "event streamCreated", "event micChanged within 2s", "signals.count == 2")
    let signal = ParticipantEvent.session(
      .signal(Signal(type: "chat", data: "x", from: nil, isFromSelf: false)))
    monitor.received(signal, at: start + .seconds(4))
    monitor.received(signal, at: start + .seconds(4))
    monitor.received(.micChanged(true), at: start + .seconds(3))
    run(&monitor, [nil])
    let results = monitor.end(at: start + .seconds(9))
    #expect(results.map(\.passed) == [true, false, false, true])
    #expect(results[1].reason == "no streamCreated came (nobody else is in the session)")
    #expect(results[2].reason == "not within 2 s")
  }

  @Test func whatIsMissingIsSaid() throws {
    var nobody = try monitor("\(Self.rate) >= 15", "publisher.video.framesPerSecond > 1")
    run(&nobody, [nil])
    let reasons = nobody.end(at: start + .seconds(2)).map { $0.reason ?? "" }
    #expect(reasons == ["no stream is received (nobody else is in the session)", "nothing is published"])
    var misspelt = try monitor("subscriber.video.fps >= 15", "median(subscriber.video.fps) >= 15")
    run(&misspelt, [30])
    for result in misspelt.end(at: start + .seconds(2)) {
      #expect(!result.passed && result.actual == nil)
      #expect(result.reason == "there is no 'subscriber.video.fps'; there are: framesPerSecond")
    }
  }
}

import Base
import OpenTokProtocol

/// Watches a call and decides what was expected of it: events and a sample of all figures each second come
/// in, results come out. No IO, no clock.
package struct ExpectationMonitor: Sendable {
  package struct Result: Sendable, Equatable {
    package let text: String
    package let passed: Bool
    /// The figure it came down to; nil: there was none.
    package let actual: Double?
    /// Why it failed, for people.
    package let reason: String?
  }

  private struct Check: Sendable {
    let expectation: Expectation
    /// From when on its limit counts; nil: from when the session was entered.
    var since: Instant?
    var result: Result?
    var isTold = false
    var values: [Double] = []
    var last: Double?
    /// Since when the condition holds.
    var holdsSince: Instant?
    /// Names near a figure that has never been there.
    var near: [String] = []
  }

  private var checks: [Check]
  private var connected: Instant?
  private var events: [String: Int] = [:]
  private var streams: Set<String> = []
  private var observation = CallObservation()
  /// As it was when the last figures were taken: leaving changes it.
  private var lastObservation = CallObservation()

  package init(_ expectations: [Expectation]) { checks = expectations.map { Check(expectation: $0) } }

  /// Everything that can be decided before the end is, and there is nothing else.
  package var isDecided: Bool { !checks.isEmpty && checks.allSatisfy { $0.result != nil } }

  /// Nothing is left to be decided.
  package var isDecidedOrEmpty: Bool { checks.allSatisfy { $0.result != nil } }

  /// Something more is expected from now on.
  ///
  /// - Returns: its number, for `result`.
  package mutating func add(_ expectation: Expectation, at now: Instant) -> Int {
    checks.append(Check(expectation: expectation, since: now))
    return checks.count - 1
  }

  /// Nil while it is not decided.
  package func result(_ number: Int) -> Result? { checks[number].result }

  /// What has been decided since the last time.
  package mutating func takeResults() -> [Result] {
    var results: [Result] = []
    for index in checks.indices where !checks[index].isTold {
      guard let result = checks[index].result else { continue }
      checks[index].isTold = true
      results.append(result)
    }
    return results
  }

  package mutating func received(_ event: ParticipantEvent, at now: Instant) {
    let name = event.name
    observation.received(event)
    events[name, default: 0] += 1
    switch event {
    case .session(.sessionConnected): connected = connected ?? now
    case .session(.streamCreated(let stream)): streams.insert(stream.id)
    case .session(.streamDestroyed(let stream, _)): streams.remove(stream.id)
    default: break
    }
    for index in checks.indices where checks[index].result == nil {
      if case .event(name) = checks[index].expectation.condition, isInTime(checks[index], at: now) {
        decide(index, passed: true, nil)
      }
    }
  }

  /// - Parameter statistics: as in a `stats` event.
  package mutating func sampled(_ statistics: JSON, at now: Instant) {
    let sample = ExpectationSample(statistics: statistics, events: events, streams: streams.count)
    observation.sampled(statistics, at: now)
    lastObservation = observation
    for index in checks.indices where checks[index].result == nil { look(index, sample, at: now) }
    advance(to: now)
  }

  /// Lets time limits pass.
  package mutating func advance(to now: Instant) {
    for index in checks.indices where checks[index].result == nil {
      let expectation = checks[index].expectation
      guard let limit = expectation.limit, !isInTime(checks[index], at: now) else { continue }
      decide(index, passed: false, failure(of: checks[index], "not within \(Self.shown(limit)) s", at: now))
    }
  }

  /// The call is over: what is still open is decided by the last sample.
  package mutating func end(at now: Instant) -> [Result] {
    advance(to: now)
    for index in checks.indices where checks[index].result == nil {
      let check = checks[index]
      switch check.expectation.condition {
      case .event(let name):
        decide(index, passed: false, failure(of: check, "no \(name) came", at: now))
      case .figure(_, let summary?, let comparison, let number):
        guard !check.values.isEmpty else {
          decide(index, passed: false, failure(of: check, nil, at: now))
          continue
        }
        checks[index].last = summary.value(of: check.values)
        let passed = comparison.holds(checks[index].last ?? .nan, number)
        decide(index, passed: passed, passed ? nil : failure(of: checks[index], nil, at: now))
      case .figure(_, nil, let comparison, let number):
        let passed =
          check.expectation.held == nil && check.expectation.limit == nil
          && check.last.map { comparison.holds($0, number) } == true
        let reason = check.expectation.held.map { "not for \(Self.shown($0)) s at a stretch" }
        decide(index, passed: passed, passed ? nil : failure(of: check, reason, at: now))
      }
    }
    return checks.compactMap(\.result)
  }

  private mutating func look(_ index: Int, _ sample: ExpectationSample, at now: Instant) {
    guard
      case .figure(let path, let summary, let comparison, let number) = checks[index].expectation.condition
    else { return }
    let value = sample.value(at: path)
    if value == nil, checks[index].last == nil { checks[index].near = sample.names(near: path) }
    checks[index].last = value
    if let value, summary != nil { checks[index].values.append(value) }
    guard let value, comparison.holds(value, number) else {
      checks[index].holdsSince = nil
      return
    }
    let since = checks[index].holdsSince ?? now
    checks[index].holdsSince = since
    let expectation = checks[index].expectation
    guard expectation.held != nil || expectation.limit != nil, isInTime(checks[index], at: now) else {
      return
    }
    if (now - since).seconds >= (expectation.held ?? 0) { decide(index, passed: true, nil) }
  }

  private func isInTime(_ check: Check, at now: Instant) -> Bool {
    guard let limit = check.expectation.limit, let start = check.since ?? connected else { return true }
    return (now - start).seconds <= limit
  }

  private mutating func decide(_ index: Int, passed: Bool, _ reason: String?) {
    checks[index].result = Result(
      text: checks[index].expectation.text, passed: passed, actual: checks[index].last, reason: reason)
  }

  private func failure(of check: Check, _ reason: String?, at now: Instant) -> String {
    let path: [String]
    switch check.expectation.condition {
    case .event(let name):
      return (reason ?? "") + (lastObservation.cause(ofMissing: name).map { " (\($0))" } ?? "")
    case .figure(let names, _, _, _): path = names
    }
    let cause = lastObservation.cause(of: path, at: now)
    let what: String
    if let last = check.last {
      what = "it is \(Self.shown(last))"
    } else if check.near.isEmpty, path.first == "subscriber" {
      what = "no stream is received"
    } else if check.near.isEmpty, path.first == "publisher" {
      what = "nothing is published"
    } else if cause != nil {
      what = "there is no such figure"
    } else {
      what =
        "there is no '\(path.joined(separator: "."))'"
        + (check.near.isEmpty ? "" : "; there are: \(check.near.sorted().prefix(60).joined(separator: ", "))")
    }
    return (reason.map { "\($0): \(what)" } ?? what) + (cause.map { " (\($0))" } ?? "")
  }

  /// A number for people: three digits behind the point at most.
  package static func shown(_ number: Double) -> String {
    number == number.rounded() && abs(number) < 1e15
      ? "\(Int64(number))" : "\((number * 1000).rounded() / 1000)"
  }
}

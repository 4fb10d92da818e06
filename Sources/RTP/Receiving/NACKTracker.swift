import Base

/// Knows which packets are missing and when to ask for them (RFC 4585, 6.2.1): soon, again after each
/// round trip, and not for ever.
struct NACKTracker: ~Copyable {
  private struct Missing {
    var number: Int64
    var noticed: Instant
    var nextRequest: Instant
    var firstRequest: Instant?
    var requests = 0
    /// Of one or two requests.
    var rounds = 0
    /// The next request is the second of its round.
    var isRepeated = false
  }

  private static let maximumMissing = 500
  /// After a longer hole a key frame is cheaper and comes sooner.
  private static let maximumGap: Int64 = 100
  private static let maximumRounds = 10
  /// From this share of lost packets on, requests get lost so often that each is made twice.
  private static let considerableLoss = 0.03
  private static let repetition = Duration.milliseconds(20)
  private static let maximumAge = Duration.seconds(2)
  private static let maximumReorderTolerance = 0.03
  /// Requests for several packets travel together.
  private static let granularity = Duration.milliseconds(5)

  /// In ascending order.
  private var missing: [Missing] = []
  private var highest: Int64?
  /// How late overtaken packets came of late, in seconds: so long a gap may close by itself.
  private var reorderTolerance = 0.0
  /// Share of the packets that did not come at first, over the last hundred or so.
  private var loss = 0.0
  /// Packets given up since the last look: only a key frame can help.
  private(set) var hasGivenUp = false
  var isEmpty: Bool { missing.isEmpty }

  /// What a packet's arrival says about earlier requests.
  struct Arrival {
    /// It had been asked for.
    var wasRequested = false
    /// Time from the only request for it to its arrival.
    var roundTrip: Duration?
  }

  /// Takes note of a packet that arrived.
  ///
  /// - Parameters:
  ///   - isRepair: whether it is a retransmission; nil if it looks the same either way.
  ///   - roundTripTime: nil if it has not been measured.
  mutating func received(_ number: Int64, isRepair: Bool?, roundTripTime: Duration?, at now: Instant)
    -> Arrival
  {
    guard let highest else {
      self.highest = number
      return Arrival()
    }
    if number > highest {
      self.highest = number
      reorderTolerance *= 0.9995
      loss +=
        (Double(number - highest - 1) / Double(number - highest) - loss) * 0.01
        * Double(min(number - highest, 10))
      if number - highest > Self.maximumGap {
        missing.removeAll()
        hasGivenUp = true
      } else if number - highest > 1 {
        for lost in highest + 1..<number {
          missing.append(
            Missing(number: lost, noticed: now, nextRequest: now + .seconds(reorderTolerance)))
        }
        if missing.count > Self.maximumMissing {
          missing.removeFirst(missing.count - Self.maximumMissing)
          hasGivenUp = true
        }
      }
      return Arrival()
    }
    guard let index = index(of: number) else { return Arrival() }
    let entry = missing.remove(at: index)
    let sinceRequest = entry.firstRequest.map { now - $0 }
    // Never asked for, or too soon for an answer: it had been overtaken only.
    let isTooSoon = sinceRequest.map { $0 < (roundTripTime ?? .zero) / 2 } ?? true
    guard isRepair ?? !isTooSoon else {
      let late = min((now - entry.noticed).seconds, Self.maximumReorderTolerance)
      reorderTolerance = max(late * 1.25, reorderTolerance)
      return Arrival()
    }
    // With several requests, nobody knows which was answered (Karn).
    return Arrival(wasRequested: entry.requests > 0, roundTrip: entry.requests == 1 ? sinceRequest : nil)
  }

  private func index(of number: Int64) -> Int? {
    var low = 0
    var high = missing.count
    while low < high {
      let middle = (low + high) / 2
      if missing[middle].number < number { low = middle + 1 } else { high = middle }
    }
    return low < missing.count && missing[low].number == number ? low : nil
  }

  /// Nothing before this number is needed any more.
  mutating func discard(through number: Int64) {
    var count = 0
    while count < missing.count, missing[count].number <= number { count += 1 }
    if count > 0 { missing.removeFirst(count) }
  }

  /// A key frame was asked for: what was given up is dealt with.
  mutating func acknowledgeGivingUp() { hasGivenUp = false }

  var deadline: Instant? { missing.lazy.map(\.nextRequest).min() }

  /// The packets to ask for now, in ascending order, at most `limit`.
  mutating func requests(at now: Instant, roundTripTime: Duration, limit: Int) -> [UInt16] {
    var result: [UInt16] = []
    var hasExpired = false
    for index in missing.indices where missing[index].nextRequest <= now + Self.granularity {
      guard missing[index].nextRequest <= now || !result.isEmpty else { continue }
      guard missing[index].rounds < Self.maximumRounds,
        now - missing[index].noticed < Self.maximumAge
      else {
        missing[index].rounds = .max
        hasExpired = true
        continue
      }
      if result.count == limit { break }
      if missing[index].firstRequest == nil { missing[index].firstRequest = now }
      missing[index].requests += 1
      let round = max(.milliseconds(10), roundTripTime * 5 / 4)
      if loss > Self.considerableLoss, round > Self.repetition * 3, !missing[index].isRepeated {
        missing[index].isRepeated = true
        missing[index].nextRequest = now + Self.repetition
      } else {
        missing[index].nextRequest = now + (missing[index].isRepeated ? round - Self.repetition : round)
        missing[index].isRepeated = false
        missing[index].rounds += 1
      }
      result.append(UInt16(truncatingIfNeeded: missing[index].number))
    }
    if hasExpired {
      missing.removeAll { $0.rounds == .max }
      hasGivenUp = true
    }
    return result
  }
}

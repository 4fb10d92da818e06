import Base

/// Notes when packets with transport-wide sequence numbers arrive, and reports it to the sender
/// (draft-holmer-rmcat-transport-wide-cc-extensions-01).
struct TransportFeedbackRecorder: ~Copyable {
  /// How many numbers are remembered; a power of two.
  private static let capacity = 4096
  /// Packets in one feedback: at two octets of delta and two bits each it has at most 900 octets.
  private static let maximumPackets = 380
  private static let minimumInterval = 0.03
  private static let maximumInterval = 0.25
  /// Until it is known how much arrives: a sender that begins is waiting for what became of its probes.
  private static let firstInterval = 0.05
  /// How much earlier feedback goes out when a packet has just woken the thread, and how much later when none does:
  /// with sound every 20 ms it never needs a wake-up of its own.
  private static let slack: (early: Duration, late: Duration) = (.milliseconds(6), .milliseconds(16))
  /// Share of the received bitrate that feedback may take.
  private static let share = 0.05
  private static let feedbackBits = 68.0 * 8

  private var unwrapper = SequenceNumberUnwrapper()
  /// Nanoseconds by number modulo capacity; the number stands beside it.
  private var arrivals = [(number: Int64, time: Int64)](repeating: (-1, 0), count: capacity)
  private var highest: Int64 = -1
  /// The first number that has not been reported, received or lost.
  private var nextToReport: Int64?
  private var feedbackCount: UInt8 = 0
  private var bytes = 0
  /// Bits per second that arrive, smoothed over a few intervals: the first packet of one says nothing. Nil: not
  /// measured yet.
  private var rate: Double?
  /// Before the first: when the first packet came.
  private var lastFeedback: Instant?
  private(set) var deadline: Instant?
  /// The source that the feedback names: the last one seen.
  private(set) var media: UInt32 = 0

  mutating func received(_ sequenceNumber: UInt16, ssrc: UInt32, size: Int, at now: Instant) {
    let number = unwrapper.unwrap(sequenceNumber)
    guard number > highest - Int64(Self.capacity), number >= 0 else { return }
    let index = Int(number % Int64(Self.capacity))
    guard arrivals[index].number != number else { return }
    arrivals[index] = (number, now.nanoseconds)
    highest = max(highest, number)
    media = ssrc
    bytes += size
    // An overtaken packet is reported although what came after it has been already.
    nextToReport = min(nextToReport ?? number, number)
    let since = lastFeedback ?? now
    lastFeedback = since
    let due = since + .seconds(interval)
    if due - Self.slack.early <= now {
      deadline = now
    } else if deadline == nil {
      deadline = due + Self.slack.late
    }
  }

  /// The next feedback if it is time; call until nil.
  mutating func feedback(sender: UInt32, at now: Instant) -> TransportFeedback? {
    guard let deadline, deadline <= now, var number = nextToReport else { return nil }
    number = max(number, highest - Int64(Self.capacity) + 1)
    while number <= highest, arrival(number) == nil { number += 1 }
    guard number <= highest, let first = arrival(number) else {
      finish(at: now)
      return nil
    }
    // Losses before the first arrival belong to it, within reason.
    let base = nextToReport.map { max($0, number - 100) } ?? number
    // The reference is before the first arrival, so that its delta is small and positive.
    let tick = TransportFeedback.referenceTick.nanoseconds
    let reference = first / tick
    var previous = reference * tick
    var deltas: [Int16?] = Array(repeating: nil, count: Int(number - base))
    while number <= highest, deltas.count < Self.maximumPackets {
      if let time = arrival(number) {
        let delta = TransportFeedback.deltaTick.nanoseconds
        let ticks = Int64((Double(time - previous) / Double(delta)).rounded())
        guard let small = Int16(exactly: ticks) else { break }
        deltas.append(small)
        previous += ticks * delta
      } else {
        deltas.append(nil)
      }
      number += 1
    }
    while case .some(.none) = deltas.last { deltas.removeLast() }
    nextToReport = base + Int64(deltas.count)
    if number > highest { finish(at: now) }
    defer { feedbackCount &+= 1 }
    return TransportFeedback(
      sender: sender, media: media, baseSequenceNumber: UInt16(truncatingIfNeeded: base),
      referenceTime: Int32(truncatingIfNeeded: reference), feedbackCount: feedbackCount, deltas: deltas)
  }

  /// Seconds between feedback.
  private var interval: Double {
    guard let rate else { return Self.firstInterval }
    return min(
      max(Self.feedbackBits / (Self.share * max(1, rate)), Self.minimumInterval), Self.maximumInterval)
  }

  private mutating func finish(at now: Instant) {
    nextToReport = highest + 1
    deadline = nil
    if let lastFeedback {
      let measured = Double(bytes * 8) / max(0.02, (now - lastFeedback).seconds)
      rate = rate.map { $0 + (measured - $0) * 0.3 } ?? measured
    }
    lastFeedback = now
    bytes = 0
  }

  private func arrival(_ number: Int64) -> Int64? {
    let entry = arrivals[Int(number % Int64(Self.capacity))]
    return entry.number == number ? entry.time : nil
  }
}

import Base
import Glibc

/// Which earlier frames each packet of sound repeats (RFC 2198), by what gets lost on the way: nothing
/// while nothing does, the frame before once that pays, two once losses are many, and further apart when
/// they come in bursts.
struct AudioRedundancy {
  /// Losses from which one copy is sent, and two; below half of it, one less again.
  private static let thresholds = [0.01, 0.04]
  /// Timestamps reach back 341 ms, which are 17 frames; later copies than this help nobody.
  static let maximumDistance = 8
  /// Share of the whole bitrate that sound with its copies may take beside pictures.
  private static let maximumShare = 0.6
  private static let memory = 100.0
  /// Packets whose fate is known before less is done than at the start.
  private static let certainty = 50.0
  private static let burstMemory = 40.0
  private static let maximumPending = 256

  private var count = 0.0
  /// Share of our packets of sound that got lost, 0...1, of late.
  private(set) var loss = 0.0
  /// Losses that followed a loss, and all of them, fading.
  private var following = 0.0
  private var losses = 0.0
  private var wasLost = false
  /// Until the first feedback tells better.
  private var copies = 2
  /// Transport-wide numbers of packets of sound on which there is no feedback yet.
  private var pending = FIFO<UInt16>()
  private(set) var hasFeedback = false

  /// How many packets back the copies are from, oldest first.
  private(set) var distances: [Int]

  init(distances: [Int] = [2, 1]) { self.distances = distances }

  mutating func packetSent(_ transportNumber: UInt16) {
    if pending.count >= Self.maximumPending { _ = pending.popFirst() }
    pending.append(transportNumber)
  }

  /// Transport-wide feedback tells the fate of each packet.
  mutating func receive(_ feedback: TransportFeedback) {
    let base = feedback.baseSequenceNumber
    while let number = pending.first {
      let offset = Int(Int16(bitPattern: number &- base))
      guard offset < feedback.deltas.count else { return }
      _ = pending.popFirst()
      // Before the base: the feedback on it was lost itself.
      if offset >= 0 {
        hasFeedback = true
        packet(isLost: feedback.deltas[offset] == nil)
      }
    }
  }

  /// A report block, where there is no transport-wide feedback.
  mutating func receiveReport(total: Int, lost: Int) {
    guard !hasFeedback, total > 0, total <= Self.maximumPending else { return }
    let lost = min(max(lost, 0), total)
    // As if spread evenly: nothing is known about their order.
    for index in 0..<total { packet(isLost: (index + 1) * lost / total > index * lost / total) }
  }

  private mutating func packet(isLost: Bool) {
    count = min(count + 1, Self.memory)
    loss += ((isLost ? 1 : 0) - loss) / count
    if wasLost {
      let keep = 1 - 1 / Self.burstMemory
      losses = losses * keep + 1
      following = following * keep + (isLost ? 1 : 0)
    }
    wasLost = isLost
  }

  /// How much of the correlation between losses is left from a packet to the next: 0 if they are
  /// independent (Gilbert's model).
  private var persistence: Double {
    let trust = 1.0
    let conditional = (following + trust * loss) / (losses + trust)
    return loss >= 1 ? 0 : min(max(0, (conditional - loss) / (1 - loss)), 0.95)
  }

  /// Decides anew.
  ///
  /// - Parameters:
  ///   - bitrate: of the sound without copies, bits per second.
  ///   - available: bits per second that may be sent in all.
  ///   - isAlone: no pictures are sent, so that all of it is the sound's.
  mutating func update(bitrate: Int, available: Int, isAlone: Bool = false) {
    while copies < 2, loss >= Self.thresholds[copies] { copies += 1 }
    if count >= Self.certainty {
      while copies > 0, loss < Self.thresholds[copies - 1] / 2 { copies -= 1 }
    }
    let persistence = persistence
    let isBursty = persistence > 0.25
    let wanted = isBursty && copies > 0 ? 2 : copies
    let share = isAlone ? 1 : Self.maximumShare
    let affordable = bitrate > 0 ? Int(min(Double(available) * share / Double(bitrate), 100)) - 1 : 2
    // So far apart that what has happened to one says little about the other.
    let reach =
      isBursty ? min(Self.maximumDistance, max(6, Int((log10(0.1) / log10(persistence)).rounded(.up)))) : 2
    switch min(wanted, affordable) {
    case ..<1: distances = []
    case 1: distances = [isBursty ? reach : 1]
    default: distances = [reach, (reach + 1) / 2]
    }
  }

  /// The share of frames that will be missing in spite of the copies, if this share of packets is lost.
  func residualLoss(of share: Double) -> Double {
    var result = share
    var previous = 0
    for distance in distances.reversed() {
      result *= share + (1 - share) * pow(persistence, Double(distance - previous))
      previous = distance
    }
    return result
  }
}

import Base
import MediaIO

/// Which encodings a publisher makes, and what each subscriber gets of them.
///
/// Whoever can have about the rate of the fastest shares one encoding. For those who cannot, it is made
/// with temporal layers, and they go without the top one: 60 % of the bitrate, half the pictures. For whom
/// even that is too much there is a second encoding of half the size, at the rate of the slowest of them.
struct EncodingAllocation {
  struct Subscriber {
    /// Bits per second that congestion control leaves for video.
    var target: Int
    /// Nothing is known of its path yet, so it is tried with what the others get.
    var isNew: Bool
  }

  /// What a subscriber gets.
  struct Share: Equatable {
    static let whole = Share(encoding: 0, highestLayer: 2)

    var encoding: Int
    /// Pictures of higher temporal layers are left out.
    var highestLayer: UInt8
  }

  /// Of the fastest one's rate: below it a subscriber leaves the shared encoding, above it it comes back. An
  /// estimate can grow to one and a half of what is sent, which without the top layer is 0.9.
  private static let (leaves, returns) = (0.75, 0.85)
  /// Of the encoding's bitrate without the top layer; see `TemporalLayers`.
  private static let lowerLayers = 0.6
  /// More than it needs to stay, so that nobody goes to and fro.
  private static let reserve = 1.1
  /// Layers cost bitrate, and changing over costs a key frame: they stay for a while.
  private static let layersStay = Duration.seconds(20)

  private(set) var encodings: [VideoEncoding] = []
  private(set) var shares: [PeerAddress: Share] = [:]
  private var lastLayered: Instant?

  /// - Returns: whether `encodings` changed.
  mutating func update(_ subscribers: [PeerAddress: Subscriber], at now: Instant) -> Bool {
    let known = subscribers.filter { !$0.value.isNew }
    let rated = known.isEmpty ? subscribers : known
    guard let fastest = rated.values.map(\.target).max() else {
      shares = [:]
      return false
    }
    let sharing = rated.filter { address, subscriber in
      let isSharing = shares[address].map { $0 == .whole } ?? true
      return Double(subscriber.target) >= Double(fastest) * (isSharing ? Self.leaves : Self.returns)
    }
    let bitrate = sharing.values.map(\.target).min() ?? fastest
    var next = subscribers.mapValues { _ in Share.whole }
    var slowest: Int?
    for (address, subscriber) in rated where sharing[address] == nil {
      let hasLayers = shares[address] == Share(encoding: 0, highestLayer: 1)
      let needed = Double(bitrate) * Self.lowerLayers * (hasLayers ? 1 : Self.reserve)
      if Double(subscriber.target) >= needed {
        next[address] = Share(encoding: 0, highestLayer: 1)
      } else {
        next[address] = Share(encoding: 1, highestLayer: 2)
        slowest = min(slowest ?? subscriber.target, subscriber.target)
      }
    }
    shares = next
    if next.values.contains(Share(encoding: 0, highestLayer: 1)) { lastLayered = now }
    let isLayered = lastLayered.map { now - $0 < Self.layersStay } ?? false
    var made = [VideoEncoding(bitrate: bitrate, temporalLayers: isLayered ? 3 : 1)]
    if let slowest { made.append(VideoEncoding(bitrate: slowest, isHalved: true)) }
    defer { encodings = made }
    return made != encodings
  }
}

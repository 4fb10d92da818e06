import Base

/// What an encoder has made beyond its bitrate, and whether it has to leave pictures out until that is made up for.
///
/// In place of libvpx's own rule for text that scrolls: that one leaves out pictures as soon as bits run short, the
/// text has then moved further than it is searched for, and the next picture takes more bits still.
struct BitDebt {
  /// In seconds of the bitrate. A screen full of small letters that begins to scroll after it has stood still, and then
  /// needs a key frame, takes 2.2 s more than it may. Where the network does not let that pass, the bitrate goes down,
  /// and with it what is too much.
  private static let limit = 2.5
  /// What is beyond the limit by more than that is forgiven: after one picture that is far too large, as a film's first
  /// one may be before the encoder has got used to it, nothing would be seen for seconds.
  private static let longestPause = 0.3

  private var bits = 0.0
  private var last: Instant?

  /// - Parameters:
  ///   - time: of the next picture.
  ///   - bitrate: bits per second.
  mutating func isTooHigh(at time: Instant, bitrate: Int) -> Bool {
    let elapsed = last.map { (time - $0).seconds } ?? 0
    last = max(time, last ?? time)
    bits = min(max(0, bits - max(0, elapsed) * Double(bitrate)), most(bitrate))
    return bits > Self.limit * Double(bitrate)
  }

  mutating func add(bytes: Int, bitrate: Int) { bits = min(bits + Double(bytes * 8), most(bitrate)) }

  private func most(_ bitrate: Int) -> Double { (Self.limit + Self.longestPause) * Double(bitrate) }
}

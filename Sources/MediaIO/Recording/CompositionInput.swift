import Base
import Codecs
import RTP

/// The composer thread's side of one source: order, decoders, the picture that is shown.
final class CompositionInput {
  /// So much is decoded before it is needed: only behind a gap is it known to be one.
  private static let soundAhead = Duration.milliseconds(200)

  let source: CompositionSource
  private var queue = RecordingQueue()
  private var sound: CompositionSound
  private let decoder: VP8Decoder
  private var asksForKeyFrame = false
  private var switches: [(on: Bool, at: Instant)] = []
  /// Shown now, and decoded already for the next time.
  private(set) var picture: VideoFrame?
  private var upcoming: VideoFrame?
  /// The picture as it was scaled last.
  private var scaled: (from: VideoFrame, to: VideoFrame)?
  private let scaler = PlaneScaler()

  init(_ source: CompositionSource) throws(CodecError) {
    self.source = source
    sound = try CompositionSound()
    decoder = try VP8Decoder()
  }

  /// Nothing more will come.
  var isOver: Bool { source.mailbox.isClosed && queue.isEmpty && sound.isEmpty }

  /// Takes in what has arrived, and decodes what belongs before `end`.
  ///
  /// - Parameters:
  ///   - origin: the composition's beginning.
  ///   - middle: pictures of a later time are for the next call.
  func advance(origin: Instant, middle: Instant, end: Instant) {
    if let upcoming { picture = upcoming }
    upcoming = nil
    for item in source.mailbox.drain() {
      switch item {
      case .began: queue.restart()
      case .audio(let packet): queue.insert(packet)
      case .video(let frame): queue.insert(frame)
      case .hasVideo(let on, let time): switches.append((on, time))
      }
    }
    while let (on, time) = switches.first, time < end {
      source.settings.withLock { $0.hasVideo = on }
      switches.removeFirst()
    }
    while let (media, time) = queue.next(before: end, soundAhead: Self.soundAhead) {
      switch media {
      case .audio(let packet):
        // Not before the beginning, and never beyond what an Int64 holds.
        let sample = ((time - origin.seconds) * 48_000).rounded()
        if sample >= 0, sample < 1e15 { sound.add(packet, at: Int64(sample)) }
      case .video(let frame):
        guard let decoded = decode(frame) else { continue }
        // Only the last one of a tick is seen.
        if time <= middle.seconds { picture = decoded.copy() } else { upcoming = decoded.copy() }
      }
    }
  }

  private func decode(_ frame: ReceivedVideoFrame) -> DecodedPicture? {
    do {
      let picture = try decoder.decode(frame.bytes, time: frame.arrival)
      asksForKeyFrame = false
      return picture
    } catch {
      if !asksForKeyFrame { source.requestKeyFrame() }
      asksForKeyFrame = true
      return nil
    }
  }

  func mix(from start: Int64, into mix: UnsafeMutableBufferPointer<Int32>) {
    sound.take(from: start, into: mix)
  }

  /// The picture in a size, for which it is scaled once only.
  func picture(_ size: VideoSize) -> VideoFrame? {
    guard let picture else { return nil }
    if let scaled, scaled.from === picture, scaled.to.size == size { return scaled.to }
    guard let result = scaler.scale(picture, to: size) else { return nil }
    scaled = (picture, result)
    return result
  }
}

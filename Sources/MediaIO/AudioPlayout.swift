import Base
import Codecs
import Glibc
import RTP

/// The audio thread's side of one receiver: jitter buffer, decoder, and decoded samples that wait, which
/// are stretched so that the delay follows its target.
final class AudioPlayout {
  private static let chunk = AudioFormat.samplesPerChunk
  /// Samples a channel that are kept after they were heard, to lengthen from.
  private static let past = TimeStretcher.longest
  private static let capacity = past + OpusDecoder.maximumSamples + 2 * TimeStretcher.longest + chunk
  /// With more samples waiting nothing is lengthened: in silence that could be done at each tick, by more
  /// than is heard in one, and they would outgrow their memory.
  static let maximumLengthened = 2 * chunk

  let receiver: AudioReceiver
  private var buffer = AudioJitterBuffer()
  private var decoder: OpusDecoder
  private var stretcher = TimeStretcher()
  /// Decoded stereo samples: `past` a channel that were heard, then `waiting` that will be.
  private let samples: UnsafeMutableBufferPointer<Int16>
  private(set) var waiting = 0
  private var blips = BlipDetector()
  private var level = AudioLevel()
  private var chunks = 0
  /// Taken from the receiver, for ticks that are still to come.
  private var coming: [ReceivedAudioPacket] = []

  init(_ receiver: AudioReceiver) throws(CodecError) {
    self.receiver = receiver
    decoder = try OpusDecoder(channels: 2)
    samples = .allocate(capacity: 2 * Self.capacity)
    samples.initialize(repeating: 0)
  }

  deinit { samples.deallocate() }

  /// Whether the next 10 ms have been decoded already.
  var isAhead: Bool { waiting >= Self.chunk }

  /// Adds the 10 ms that are heard from `time` on to `mix` (480 samples of 2 channels); nil: nobody listens.
  /// - Parameter limit: what arrived later is for later ticks; nil: there is no such thing.
  func tick(at time: Instant, arrivedBy limit: Instant?, into mix: UnsafeMutableBufferPointer<Int32>?) {
    coming += receiver.mailbox.drain()
    let count = limit.flatMap { limit in coming.firstIndex { $0.arrival > limit } } ?? coming.count
    for packet in coming[..<count] { buffer.insert(packet) }
    coming.removeFirst(count)
    while waiting < Self.chunk { decodeNext(at: time) }
    if let wish = buffer.stretch(waiting: waiting, at: time),
      wish.samples > 0 || waiting <= Self.maximumLengthened
    {
      stretch(wish, at: time)
      while waiting < Self.chunk { decodeNext(at: time) }
    }
    let chunk = UnsafeBufferPointer(
      rebasing: UnsafeBufferPointer(samples)[2 * Self.past..<2 * (Self.past + Self.chunk)])
    let settings = report(chunk, at: time)
    buffer.minimumDelay = settings.minimumDelay
    if let mix, !settings.muted && settings.volume > 0 { add(chunk, settings.volume, to: mix) }
    waiting -= Self.chunk
    if let base = samples.baseAddress { memmove(base, base + 2 * Self.chunk, (Self.past + waiting) * 4) }
  }

  private func stretch(_ wish: AudioJitterBuffer.Stretch, at time: Instant) {
    guard let base = samples.baseAddress else { return }
    let front = base + 2 * Self.past
    let change =
      wish.samples > 0
      ? stretcher.shorten(
        front, waiting: waiting, maximum: wish.samples, minimumCorrelation: wish.minimumCorrelation)
      : -stretcher.lengthen(
        front, waiting: waiting, maximum: -wish.samples, minimumCorrelation: wish.minimumCorrelation)
    waiting -= change
    buffer.stretched(by: change, at: time)
  }

  private func decodeNext(at time: Instant) {
    let room = UnsafeMutableBufferPointer(rebasing: samples[(2 * (Self.past + waiting))...])
    switch buffer.next(at: time) {
    case .packet(let bytes, let expected):
      waiting += decode(bytes, room) ?? silence(expected, room)
    case .recoverFromNext(let bytes, let expected):
      waiting +=
        bytes.withUnsafeBufferPointer { try? decoder.recover(samples: expected, from: $0, into: room) }
        ?? silence(expected, room)
    case .conceal(let expected), .comfortNoise(let expected):
      waiting += conceal(expected, room)
    case .silence(let expected):
      waiting += silence(expected, room)
    }
  }

  private func decode(_ bytes: [UInt8], _ room: UnsafeMutableBufferPointer<Int16>) -> Int? {
    do {
      return try bytes.withUnsafeBufferPointer { packet throws(CodecError) in
        try decoder.decode(packet, into: room)
      }
    } catch {
      receiver.state.withLock { $0.packetsCorrupted += 1 }
      return nil
    }
  }

  private func conceal(_ count: Int, _ room: UnsafeMutableBufferPointer<Int16>) -> Int {
    (try? decoder.conceal(samples: count, into: room)) ?? silence(count, room)
  }

  private func silence(_ count: Int, _ room: UnsafeMutableBufferPointer<Int16>) -> Int {
    let count = min(max(count, 1), OpusDecoder.maximumSamples)
    UnsafeMutableBufferPointer(rebasing: room[..<(2 * count)]).update(repeating: 0)
    return count
  }

  private func add(
    _ chunk: UnsafeBufferPointer<Int16>, _ volume: Double, to mix: UnsafeMutableBufferPointer<Int32>
  ) {
    let factor = Int32((volume * 256).rounded())
    for index in 0..<min(chunk.count, mix.count) {
      mix[index] &+= (Int32(chunk[index]) &* factor) >> 8
    }
  }

  private func report(_ chunk: UnsafeBufferPointer<Int16>, at time: Instant) -> AudioReceiver.Settings {
    if let offset = receiver.offset, let blip = blips.add(chunk, at: time) { offset.noteBlip(at: blip) }
    var chunkLevel = AudioLevel()
    chunkLevel.add(chunk)
    level.add(chunkLevel)
    stretcher.heard(power: chunkLevel.power)
    chunks += 1
    let isComplete = chunks % 10 == 0
    let longLevel = isComplete ? level.decibels : nil
    if isComplete { level = AudioLevel() }
    let position = buffer.position(waiting: waiting, at: time)
    return receiver.state.withLock { state in
      state.position = position
      state.tone.add(chunk)
      state.jitterBuffer = buffer.statistics
      state.totalAudioEnergy += chunkLevel.power * 0.010
      state.totalSamplesDuration += 0.010
      if let longLevel { state.audioLevel = longLevel }
      return state.settings
    }
  }
}

import Base
import Codecs
import Glibc
import RTP

/// The audio thread's side of one receiver: jitter buffer, decoder, and decoded samples that wait.
final class AudioPlayout {
  private static let chunk = AudioFormat.samplesPerChunk
  /// 5 ms.
  private static let fadeLength = 240

  let receiver: AudioReceiver
  private var buffer = AudioJitterBuffer()
  private var decoder: OpusDecoder
  /// Decoded stereo samples; the first `waiting` a channel are to be played.
  private let samples: UnsafeMutableBufferPointer<Int16>
  private var waiting = 0
  /// The beginning of sound that was left out, to fade from; stereo.
  private var fadeFrom: [Int16] = []
  private var blips = BlipDetector()
  private var level = AudioLevel()
  private var chunks = 0

  init(_ receiver: AudioReceiver) throws(CodecError) {
    self.receiver = receiver
    decoder = try OpusDecoder(channels: 2)
    samples = .allocate(capacity: 2 * (OpusDecoder.maximumSamples + Self.chunk))
    samples.initialize(repeating: 0)
  }

  deinit { samples.deallocate() }

  /// Adds the 10 ms that are heard from `time` on to `mix` (480 samples of 2 channels).
  func tick(at time: Instant, into mix: UnsafeMutableBufferPointer<Int32>) {
    for packet in receiver.mailbox.drain() { buffer.insert(packet) }
    while waiting < Self.chunk { decodeNext(at: time) }
    let chunk = UnsafeBufferPointer(rebasing: UnsafeBufferPointer(samples)[0..<2 * Self.chunk])
    let settings = report(chunk, at: time)
    buffer.minimumDelay = settings.minimumDelay
    if !settings.muted && settings.volume > 0 { add(chunk, settings.volume, to: mix) }
    waiting -= Self.chunk
    if waiting > 0, let base = samples.baseAddress {
      memmove(base, base + 2 * Self.chunk, waiting * 4)
    }
  }

  private func decodeNext(at time: Instant) {
    let room = UnsafeMutableBufferPointer(rebasing: samples[(2 * waiting)...])
    var count = 0
    switch buffer.next(at: time) {
    case .packet(let bytes, let expected):
      count = decode(bytes, room) ?? silence(expected, room)
    case .recoverFromNext(let bytes, let expected):
      count =
        bytes.withUnsafeBufferPointer { try? decoder.recover(samples: expected, from: $0, into: room) }
        ?? silence(expected, room)
    case .conceal(let expected):
      count = conceal(expected, room)
    case .silence(let expected):
      count = silence(expected, room)
    case .skip(let bytes, _):
      if let count = decode(bytes, room) {
        fadeFrom = Array(room[..<(2 * min(count, Self.fadeLength))])
      }
      return
    }
    fade(room, count)
    waiting += count
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

  /// From the sound that would have followed into the one that does.
  private func fade(_ room: UnsafeMutableBufferPointer<Int16>, _ count: Int) {
    guard !fadeFrom.isEmpty else { return }
    let length = min(fadeFrom.count / 2, count)
    for index in 0..<length {
      for channel in 0..<2 {
        let (old, new) = (Int(fadeFrom[2 * index + channel]), Int(room[2 * index + channel]))
        room[2 * index + channel] = Int16(clamping: (old * (length - index) + new * index) / length)
      }
    }
    fadeFrom.removeAll(keepingCapacity: true)
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
    level.add(chunk)
    chunks += 1
    let isComplete = chunks % 10 == 0
    let longLevel = isComplete ? level.decibels : nil
    if isComplete { level = AudioLevel() }
    let position = buffer.playoutTimestamp.map {
      AudioReceiver.PlayoutPosition(timestamp: $0 - Int64(waiting), at: time)
    }
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

import Base
import Codecs
import Glibc
import RTP

/// The audio thread's side of one receiver: jitter buffer, decoder, and decoded samples that wait.
final class AudioPlayout {
  private static let chunk = AudioFormat.samplesPerChunk

  let receiver: AudioReceiver
  private var buffer = InterimJitterBuffer()
  private var decoder: OpusDecoder
  /// Decoded stereo samples; the first `waiting` a channel are to be played.
  private let samples: UnsafeMutableBufferPointer<Int16>
  private var waiting = 0
  /// Extended RTP timestamp of the sample after the last decoded one.
  private var nextTimestamp: Int64?
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
    case .packet(let packet):
      count = decode(packet, room)
      nextTimestamp = packet.timestamp + Int64(count)
    case .recoverFromNext(let next):
      count = next.bytes.withUnsafeBufferPointer {
        (try? decoder.recover(samples: AudioFormat.samplesPerPacket, from: $0, into: room)) ?? 0
      }
      advance(count)
    case .conceal:
      count = (try? decoder.conceal(samples: AudioFormat.samplesPerPacket, into: room)) ?? 0
      advance(count)
    case .silence:
      break
    }
    if count == 0 {
      count = Self.chunk
      for index in 0..<2 * count { room[index] = 0 }
    }
    waiting += count
  }

  private func decode(_ packet: ReceivedAudioPacket, _ room: UnsafeMutableBufferPointer<Int16>) -> Int {
    do {
      return try packet.bytes.withUnsafeBufferPointer { bytes throws(CodecError) in
        try decoder.decode(bytes, into: room)
      }
    } catch {
      receiver.state.withLock { $0.statistics.packetsCorrupted += 1 }
      return (try? decoder.conceal(samples: AudioFormat.samplesPerPacket, into: room)) ?? 0
    }
  }

  private func advance(_ count: Int) {
    if let timestamp = nextTimestamp { nextTimestamp = timestamp + Int64(count) }
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
    let longLevel = level.decibels
    if isComplete { level = AudioLevel() }
    let position = nextTimestamp.map {
      AudioReceiver.PlayoutPosition(timestamp: $0 - Int64(waiting), at: time)
    }
    return receiver.state.withLock { state in
      state.position = position
      state.tone.add(chunk)
      state.statistics.totalAudioEnergy += chunkLevel.power * 0.010
      state.statistics.totalSamplesDuration += 0.010
      state.statistics.totalSamplesReceived += Self.chunk
      if isComplete { state.statistics.audioLevel = longLevel }
      buffer.report(to: &state.statistics)
      return state.settings
    }
  }
}

import Base
import Codecs
import RTP

/// The publishing half of the audio thread: 10 ms of a source at a time, a packet every 20 ms.
struct AudioSender: ~Copyable {
  private static let chunk = AudioFormat.samplesPerChunk

  private(set) var source: (any AudioSource)?
  private(set) var statistics = AudioEngine.Statistics()
  private var encoder: OpusEncoder
  private let configuration: OpusEncoder.Configuration
  private let samples: UnsafeMutableBufferPointer<Int16>
  private var fill = 0
  private var captureTime = Instant.zero
  private var timestamp: UInt32 = 0
  private var muted = false
  private var packetLoss = 0.0
  private var pausing = false
  private var afterPause = true
  private var level = AudioLevel()

  init(_ configuration: OpusEncoder.Configuration) throws(CodecError) {
    encoder = try OpusEncoder(configuration)
    self.configuration = encoder.configuration
    samples = .allocate(capacity: AudioFormat.samplesPerPacket * encoder.configuration.channels)
    samples.initialize(repeating: 0)
  }

  deinit { samples.deallocate() }

  mutating func setSource(_ new: (any AudioSource)?, at now: Instant) throws(SourceError) {
    source?.stop()
    source = nil
    statistics.sourceName = new?.name ?? ""
    statistics.sourceEnded = false
    statistics.capture = nil
    guard let new else { return }
    try new.start(at: now)
    source = new
  }

  /// Muted, silence is sent as discontinuous transmission: two small packets every 400 ms.
  mutating func update(muted: Bool, packetLoss: Double) {
    guard muted != self.muted || packetLoss != self.packetLoss else { return }
    self.muted = muted
    self.packetLoss = packetLoss
    var new = configuration
    new.discontinuousTransmission = muted || configuration.discontinuousTransmission
    new.expectedPacketLoss = Int((min(max(packetLoss, 0), 1) * 100).rounded())
    encoder.update(new)
  }

  /// Time that passed without sound being captured, because the audio thread was held up. What had been
  /// captured for the next packet is part of it.
  mutating func skip(chunks: Int) {
    timestamp &+= UInt32(truncatingIfNeeded: chunks * Self.chunk + fill)
    fill = 0
  }

  /// Whether the last tick completed a packet's sound, and with it the statistics.
  var isAtPacketEnd: Bool { fill == 0 }

  /// Whether a microphone is the source, whose sound may need cleaning.
  var hasMicrophone: Bool { source is Microphone }

  /// Captures 10 ms that began at `time`; hands out a packet every second time.
  /// - Parameters:
  ///   - processor: cleans a microphone's sound.
  ///   - playoutDelay: of the loudspeaker that the microphone may hear, in seconds.
  mutating func tick(
    at time: Instant, _ processor: AudioProcessor? = nil, playoutDelay: Double = 0,
    _ output: (EncodedAudioFrame) -> Void
  ) {
    guard let source else {
      timestamp &+= UInt32(Self.chunk)
      fill = 0
      return
    }
    let channels = encoder.configuration.channels
    let chunk = UnsafeMutableBufferPointer(
      rebasing: samples[fill * channels..<(fill + Self.chunk) * channels])
    if !source.read(into: chunk, channels: channels, at: time) { statistics.sourceEnded = true }
    if let processor, let microphone = source as? Microphone {
      // Also while muted, or the echo's way would have to be learnt anew.
      let delay = playoutDelay + (microphone.statistics?.delay ?? 0)
      processor.captured(chunk, channels: channels, delay: delay)
    }
    if muted { chunk.update(repeating: 0) }
    if fill == 0 {
      captureTime = time
      level = AudioLevel()
    }
    level.add(UnsafeBufferPointer(chunk))
    fill += Self.chunk
    guard fill == AudioFormat.samplesPerPacket else { return }
    fill = 0
    statistics.audioLevel = level.decibels
    statistics.totalAudioEnergy += level.power * 0.020
    statistics.totalSamplesDuration += 0.020
    statistics.capture = source.statistics
    defer { timestamp &+= UInt32(AudioFormat.samplesPerPacket) }
    do {
      let begin = MonotonicClock.now()
      let bytes = try encoder.encode(UnsafeBufferPointer(samples))
      statistics.totalEncodeTime += (MonotonicClock.now() - begin).seconds
      emit(bytes, output)
    } catch {
      statistics.encoderErrors += 1
    }
  }

  /// Of a run of packets that only say "still silent", the first is sent so that the decoder knows.
  private mutating func emit(_ bytes: [UInt8], _ output: (EncodedAudioFrame) -> Void) {
    if bytes.count <= 2 {
      if pausing {
        afterPause = true
        return
      }
      pausing = true
    } else {
      pausing = false
    }
    statistics.packetsEncoded += 1
    statistics.bytesEncoded += bytes.count
    output(
      EncodedAudioFrame(
        bytes: bytes, timestamp: timestamp, captureTime: captureTime, level: level.headerExtension,
        startsTalkSpurt: afterPause))
    afterPause = false
  }
}

import Base
import Codecs
import Glibc
import RTP
import TestSupport
import Testing

@testable import MediaIO

/// Sound from a source through encoder, a lossy network in virtual time, jitter buffer and decoder.
private final class AudioCall {
  var sender: AudioSender
  let playout: AudioPlayout
  private let mix = UnsafeMutableBufferPointer<Int32>.allocate(capacity: 960)
  private var ticks: Int64 = 0
  private var generator = SeededGenerator(seed: 11)
  private var sequenceNumber: Int64 = 70_000
  private var inFlight: [ReceivedAudioPacket] = []
  private(set) var sent: [EncodedAudioFrame] = []
  /// Left channel.
  private(set) var heard: [Int16] = []
  var loss = 0.0
  /// Milliseconds, up to.
  var jitter = 0

  init(_ source: any AudioSource, offset: MediaOffset? = nil) throws {
    sender = try AudioSender(OpusEncoder.Configuration())
    playout = try AudioPlayout(AudioReceiver(offset: offset))
    try sender.setSource(source, at: .zero)
    mix.initialize(repeating: 0)
  }

  deinit { mix.deallocate() }

  func run(seconds: Double, from base: Instant = .zero) {
    for _ in 0..<Int(seconds * 100) {
      let now = base + .milliseconds(10 * ticks)
      var packet: EncodedAudioFrame?
      sender.tick(at: now) { packet = $0 }
      if let packet {
        sent.append(packet)
        sequenceNumber += 1
        let delay = 20 + (jitter > 0 ? Int.random(in: 0...jitter, using: &generator) : 0)
        if Double.random(in: 0..<1, using: &generator) >= loss {
          inFlight.append(
            ReceivedAudioPacket(
              bytes: packet.bytes, sequenceNumber: sequenceNumber,
              timestamp: Int64(packet.timestamp) + 1 << 33,
              arrival: now + .milliseconds(delay)))
        }
      }
      for packet in inFlight where packet.arrival <= now { playout.receiver.push(packet) }
      inFlight.removeAll { $0.arrival <= now }
      mix.update(repeating: 0)
      playout.tick(at: now, arrivedBy: nil, into: mix)
      for index in stride(from: 0, to: 960, by: 2) { heard.append(Int16(clamping: mix[index])) }
      ticks += 1
    }
  }
}

/// How much of a signal's energy lies within a few Hz of `frequency`, 0 to 1 (Goertzel).
func share(of frequency: Double, in samples: ArraySlice<Int16>) -> Double {
  var (real, imaginary, energy) = (0.0, 0.0, 0.0)
  for (index, sample) in samples.enumerated() {
    let angle = 2 * Double.pi * frequency / 48_000 * Double(index)
    real += Double(sample) * cos(angle)
    imaginary += Double(sample) * sin(angle)
    energy += Double(sample) * Double(sample)
  }
  return energy == 0 ? 0 : 2 * (real * real + imaginary * imaginary) / (Double(samples.count) * energy)
}

@Suite struct AudioTests {
  @Test func toneIsHeardOverALossyNetwork() throws {
    let call = try AudioCall(ToneSource(hertz: 440))
    call.loss = 0.05
    call.jitter = 40
    call.sender.update(muted: false, packetLoss: 0.05)
    call.run(seconds: 6)
    let statistics = call.playout.receiver.statistics
    #expect(call.sent.count == 300)
    #expect(call.sent.allSatisfy { $0.level >= 13 && $0.level <= 17 })
    // The encoder spends no FEC on a steady tone.
    #expect((0.01...0.12).contains(Double(statistics.jitterBuffer.concealedSamples) / (48_000 * 6)))
    #expect(statistics.jitterBuffer.framesRecovered == 0)
    let tone = try #require(call.playout.receiver.toneHz)
    #expect(abs(tone - 440) < 3, "\(tone)")
    // Each tenth of a second after the start: never silent, and mostly the tone.
    var good = 0
    for start in stride(from: 48_000, to: call.heard.count - 4_800, by: 4_800) {
      let piece = call.heard[start..<start + 4_800]
      #expect((piece.map { abs(Int($0)) }.max() ?? 0) > 2_000, "silence at \(start)")
      if share(of: 440, in: piece) > 0.8 { good += 1 }
    }
    #expect(good >= 40, "\(good) of 49")
    #expect(abs(statistics.audioLevel - -15) < 3, "\(statistics.audioLevel)")
    #expect(statistics.totalAudioEnergy > 0.1)
  }

  @Test func mutedSoundStaysAliveInAFewBytes() throws {
    let call = try AudioCall(ToneSource(hertz: 440))
    call.run(seconds: 1)
    call.sender.update(muted: true, packetLoss: 0)
    call.run(seconds: 1)
    let before = call.sent.count
    call.run(seconds: 10)
    let muted = call.sent[before...]
    // Something every 400 ms, in next to no bytes.
    #expect((20...60).contains(muted.count), "\(muted.count)")
    #expect(muted.reduce(0) { $0 + $1.bytes.count } * 8 / 10 < 1_000)
    let gaps = zip(muted, muted.dropFirst()).map { $1.timestamp &- $0.timestamp }
    #expect((gaps.max() ?? 0) <= 48_000 / 2)
    #expect(muted.allSatisfy { $0.level == 127 })
    #expect(call.heard.suffix(48_000).allSatisfy { abs(Int($0)) < 4 })
    #expect(call.playout.receiver.toneHz == nil)
    let concealed = call.playout.receiver.statistics.jitterBuffer.concealedSamples

    call.sender.update(muted: false, packetLoss: 0)
    let after = call.sent.count
    call.run(seconds: 1)
    #expect(call.sent[after...].contains { $0.startsTalkSpurt })
    #expect(call.sent.count - after >= 49)
    #expect(abs((call.playout.receiver.toneHz ?? 0) - 440) < 3)
    // The pauses were no losses.
    #expect(call.playout.receiver.statistics.jitterBuffer.concealedSamples - concealed <= 960)
  }

  @Test func timestampsGoOnWhenTheThreadWasHeldUp() throws {
    let call = try AudioCall(SilenceSource())
    call.run(seconds: 0.1)
    call.sender.skip(chunks: 50)
    call.run(seconds: 0.1)
    let steps = zip(call.sent, call.sent.dropFirst()).map { $1.timestamp &- $0.timestamp }
    #expect(steps == [960, 960, 960, 960, 960 + 24_000, 960, 960, 960, 960])
  }

  @Test func strangePacketsCostACounter() throws {
    let playout = try AudioPlayout(AudioReceiver(offset: nil))
    let mix = UnsafeMutableBufferPointer<Int32>.allocate(capacity: 960)
    mix.initialize(repeating: 0)
    defer { mix.deallocate() }
    var generator = SeededGenerator(seed: 5)
    for tick in 0..<2_000 {
      let now = Instant(nanoseconds: Int64(tick) * 10_000_000)
      let first = UInt8(truncatingIfNeeded: tick)
      let bytes: [UInt8] =
        switch tick % 4 {
        case 0: []
        case 1: [first]
        case 2: [first, UInt8.random(in: 0...255, using: &generator)]
        default:
          (0..<Int.random(in: 1...200, using: &generator)).map { _ in .random(in: 0...255, using: &generator)
          }
        }
      let wild = tick % 50 == 0
      playout.receiver.push(
        ReceivedAudioPacket(
          bytes: bytes, sequenceNumber: wild ? .random(in: .min ... .max, using: &generator) : Int64(tick),
          timestamp: wild ? .random(in: .min ... .max, using: &generator) : Int64(tick) * 480, arrival: now))
      playout.tick(at: now, arrivedBy: nil, into: mix)
    }
    let statistics = playout.receiver.statistics
    #expect(statistics.packetsReceived == 2_000)
    #expect(statistics.packetsDiscarded + statistics.packetsCorrupted > 500)
    #expect(statistics.totalSamplesDuration > 19.9)
  }

  @Test func silenceIsLengthenedWithinItsMemory() throws {
    let call = try AudioCall(SilenceSource())
    call.run(seconds: 1)
    // As lip sync asks for when pictures come late.
    call.playout.receiver.setMinimumDelay(.milliseconds(800))
    var most = 0
    for _ in 0..<300 {
      call.run(seconds: 0.01)
      most = max(most, call.playout.waiting)
    }
    #expect(most <= AudioPlayout.maximumLengthened + TimeStretcher.longest, "\(most)")
    let delay = try #require(call.playout.receiver.playoutPosition?.delay)
    #expect(delay >= .milliseconds(780), "\(delay)")
  }

  @Test func whatIsMadeUpForLaterSoundsTheSame() throws {
    /// Half of the packets come by up to 60 ms late, some of them too late, and some never.
    func play(ticksAtOnce: Int) throws -> AudioReceiver {
      var generator = SeededGenerator(seed: 9)
      var sender = try AudioSender(OpusEncoder.Configuration())
      try sender.setSource(ToneSource(hertz: 500), at: .zero)
      let playout = try AudioPlayout(AudioReceiver(offset: nil))
      var inFlight: [ReceivedAudioPacket] = []
      var number: Int64 = 0
      for tick in 1...1_000 {
        let now = Instant.zero + .milliseconds(10 * tick)
        sender.tick(at: now) { frame in
          number += 1
          guard number % 37 != 0 else { return }
          let delay = Int.random(in: 0...1, using: &generator) * Int.random(in: 0...60, using: &generator)
          inFlight.append(
            ReceivedAudioPacket(
              bytes: frame.bytes, sequenceNumber: number, timestamp: Int64(frame.timestamp),
              arrival: now + .milliseconds(delay)))
        }
        for packet in inFlight.sorted(by: { $0.arrival < $1.arrival }) where packet.arrival <= now {
          playout.receiver.push(packet)
        }
        inFlight.removeAll { $0.arrival <= now }
        guard tick % ticksAtOnce == 0 else { continue }
        for back in (0..<ticksAtOnce).reversed() {
          let time = now - .milliseconds(10 * back)
          playout.tick(at: time, arrivedBy: ticksAtOnce == 1 ? nil : time, into: nil)
        }
      }
      return playout.receiver
    }
    let (single, batched) = (try play(ticksAtOnce: 1), try play(ticksAtOnce: 10))
    #expect(single.statistics == batched.statistics)
    #expect(single.playoutPosition == batched.playoutPosition)
    #expect(single.statistics.jitterBuffer.concealedSamples > 0)
    #expect(abs((batched.toneHz ?? 0) - 500) < 3)
  }

  @Test func aSourceBeginsAtOnceWhereNobodyListens() async throws {
    let frames = Collector<EncodedAudioFrame>()
    let engine = AudioEngine(source: nil, sink: nil, output: { frames.add($0) })
    try engine.start()
    let set = MonotonicClock.now()
    engine.setSource(ToneSource(hertz: 500))
    try await eventually("sound") { frames.all.count >= 3 }
    engine.stop()
    // Not of the time before, which has yet to be made up for.
    #expect(frames.all[0].captureTime > set - .milliseconds(25))
    #expect(frames.all[0].timestamp % 480 == 0)
  }

  @Test func loudSoundsSaturate() throws {
    final class Capture: AudioSink {
      let name = "capture"
      var loudest = 0
      func start(at now: Instant) {}
      func write(_ samples: UnsafeBufferPointer<Int16>) {
        loudest = max(loudest, samples.map { abs(Int($0)) }.max() ?? 0)
      }
      func stop() {}
    }
    let sink = Capture()
    var mixer = AudioMixer(sink)
    let receivers = (0..<6).map { _ in AudioReceiver(offset: nil) }
    var sender = try AudioSender(OpusEncoder.Configuration())
    try sender.setSource(ToneSource(hertz: 300), at: .zero)
    func run(from: Int, to: Int, muted: Bool = false) {
      for tick in from..<to {
        let now = Instant(nanoseconds: Int64(tick) * 10_000_000)
        sender.tick(at: now) { packet in
          for receiver in receivers {
            receiver.push(
              ReceivedAudioPacket(
                bytes: packet.bytes, sequenceNumber: Int64(tick / 2), timestamp: Int64(packet.timestamp),
                arrival: now))
          }
        }
        mixer.tick(at: now, receivers, arrivedBy: nil, muted: muted)
      }
    }
    run(from: 0, to: 100)
    #expect(sink.loudest >= 32_767)  // six times 8192
    for receiver in receivers.dropFirst() { receiver.setMuted(true) }
    receivers[0].setVolume(0.5)
    run(from: 100, to: 150)
    sink.loudest = 0
    run(from: 150, to: 200)
    #expect((3_500...4_700).contains(sink.loudest), "\(sink.loudest)")
    sink.loudest = 0
    run(from: 200, to: 250, muted: true)
    #expect(sink.loudest == 0)
    #expect(receivers[5].statistics.audioLevel > -20, "levels are measured in front of mute")
  }

  @Test func everySecondTickHasItsSoundAlready() throws {
    var mixer = AudioMixer(nil)
    let idle = mixer.isAhead
    #expect(idle, "nobody to decode for")
    let receiver = AudioReceiver(offset: nil)
    var sender = try AudioSender(OpusEncoder.Configuration())
    try sender.setSource(ToneSource(hertz: 300), at: .zero)
    var ahead: [Bool] = []
    for tick in 0..<200 {
      let now = Instant(nanoseconds: Int64(tick) * 10_000_000)
      sender.tick(at: now) { packet in
        receiver.push(
          ReceivedAudioPacket(
            bytes: packet.bytes, sequenceNumber: Int64(tick / 2), timestamp: Int64(packet.timestamp),
            arrival: now))
      }
      mixer.tick(at: now, [receiver], arrivedBy: nil, muted: false)
      ahead.append(mixer.isAhead)
    }
    // While the delay settles, sound is stretched.
    #expect((45...55).contains(ahead.suffix(100).count { $0 }))
    mixer.tick(at: Instant(nanoseconds: 2_000_000_000), [], arrivedBy: nil, muted: false)
    let idleAgain = mixer.isAhead
    #expect(idleAgain)
  }

  @Test func engineCarriesSoundInRealTime() async throws {
    let path = "/tmp/otchat-engine-\(getpid()).wav"
    defer { unlink(path) }
    let frames = Collector<EncodedAudioFrame>()
    let receiver = Lock<AudioReceiver?>(nil)
    let sink = try AudioSinkSpecification.wav(path: path).makeSink()
    let engine = AudioEngine(
      source: try AudioSourceSpecification.tone(hertz: 700).makeSource(), sink: sink,
      output: { frame in
        frames.add(frame)
        let sequence = Int64(frame.timestamp / 960)
        receiver.withLock { $0 }?.push(
          ReceivedAudioPacket(
            bytes: frame.bytes, sequenceNumber: sequence, timestamp: Int64(frame.timestamp),
            arrival: MonotonicClock.now()))
      })
    let added = engine.addReceiver()
    receiver.withLock { $0 = added }
    try engine.start()
    try await eventually("700 Hz is heard") { abs((added.toneHz ?? 0) - 700) < 3 }
    engine.setSource(try AudioSourceSpecification.tone(hertz: 1_200).makeSource())
    try await eventually("1200 Hz is heard") { abs((added.toneHz ?? 0) - 1_200) < 3 }
    let position = try #require(added.playoutPosition)
    #expect(position.timestamp > 0)
    #expect(abs((MonotonicClock.now() - position.at).milliseconds) < 10_000)
    #expect(engine.statistics.sourceName == "1200 Hz tone")
    engine.setSource(nil)
    engine.removeReceiver(added)
    engine.stop()
    let steps = zip(frames.all, frames.all.dropFirst()).map { $1.timestamp &- $0.timestamp }
    #expect(steps.allSatisfy { $0 == 960 } || engine.statistics.skippedTicks > 0)
    let file = try WAVFile(path)
    #expect(file.sizesAreRight)
    let (written, encoded) = (Double(file.samples) / 48_000, Double(frames.all.count) * 0.020)
    #expect(abs(written - encoded) < 1 || engine.statistics.skippedTicks > 0, "\(written), \(encoded)")
  }

  @Test func stallsAreCaughtUpWithInBounds() async throws {
    /// Holds the audio thread for half a second, once.
    final class Stalling: AudioSource {
      let name = "stalling"
      var reads = 0
      func start(at now: Instant) {}
      func read(into samples: UnsafeMutableBufferPointer<Int16>, channels: Int, at time: Instant) -> Bool {
        reads += 1
        if reads == 11 { _ = Semaphore().wait(until: MonotonicClock.now() + .milliseconds(500)) }
        samples.update(repeating: 0)
        return true
      }
      func stop() {}
    }
    let frames = Collector<EncodedAudioFrame>()
    let engine = AudioEngine(source: Stalling(), sink: nil, output: { frames.add($0) })
    try engine.start()
    try await eventually("it goes on after the stall") {
      engine.statistics.skippedTicks > 0 && frames.all.count > 20
    }
    engine.stop()
    // 50 ticks were missed; 20 are made up for.
    #expect(engine.statistics.skippedTicks >= 28)
    let times = frames.all.map { (Double($0.timestamp) / 48, $0.captureTime.seconds * 1000) }
    for (earlier, later) in zip(times, times.dropFirst()) {
      // What is skipped is skipped in both clocks.
      #expect(abs((later.0 - earlier.0) - (later.1 - earlier.1)) < 11)
    }
  }

  @Test func sourcesThatCannotStartAreToldAndReplacedBySilence() async throws {
    final class Broken: AudioSource {
      let name = "broken"
      func start(at now: Instant) throws(SourceError) { throw .fileMissing(path: "x") }
      func read(into samples: UnsafeMutableBufferPointer<Int16>, channels: Int, at time: Instant) -> Bool {
        true
      }
      func stop() {}
    }
    let frames = Collector<EncodedAudioFrame>()
    let errors = Collector<SourceError>()
    let engine = AudioEngine(
      source: Broken(), sink: nil, failed: { errors.add($0) }, output: { frames.add($0) })
    try engine.start()
    try await eventually("silence") { frames.all.count >= 5 }
    engine.stop()
    #expect(errors.all == [.fileMissing(path: "x")])
    #expect(frames.all.allSatisfy { $0.level == 127 })
  }

  @Test func blipsAreFoundWhereTheyBegin() throws {
    let source = BlipSource()
    var detector = BlipDetector()
    let buffer = UnsafeMutableBufferPointer<Int16>.allocate(capacity: 960)
    buffer.initialize(repeating: 0)
    defer { buffer.deallocate() }
    let start = MonotonicClock.now()
    let wall = WallClock.microseconds()
    var found: [Double] = []
    for tick in 0..<400 {
      let time = start + .milliseconds(10 * tick)
      #expect(source.read(into: buffer, channels: 2, at: time))
      if let onset = detector.add(UnsafeBufferPointer(buffer), at: time) {
        let at = wall + (onset - start).nanoseconds / 1000
        found.append(Double((at + 500_000) % 1_000_000 - 500_000) / 1000)
      }
    }
    #expect((3...4).contains(found.count))
    #expect(found.allSatisfy { abs($0) < 2 }, "\(found)")
  }

  @Test func musicIsNoBlip() throws {
    let source = ToneSource(hertz: 440)
    var detector = BlipDetector()
    let buffer = UnsafeMutableBufferPointer<Int16>.allocate(capacity: 960)
    buffer.initialize(repeating: 0)
    defer { buffer.deallocate() }
    for tick in 0..<300 {
      let time = Instant(nanoseconds: Int64(tick) * 10_000_000)
      _ = source.read(into: buffer, channels: 2, at: time)
      if tick % 60 < 30 { buffer.update(repeating: 0) }
      #expect(detector.add(UnsafeBufferPointer(buffer), at: time) == nil)
    }
  }
}

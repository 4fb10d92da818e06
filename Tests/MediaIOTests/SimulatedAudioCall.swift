import Base
import Codecs
import Glibc
import RTP
import TestSupport

@testable import MediaIO

/// A voice: harmonics of a gliding pitch in syllables with pauses, or recorded samples in a circle.
final class VoiceSource: AudioSource {
  let name = "voice"
  private let recorded: [Int16]
  private var position = 0
  private var phase = 0.0

  init(recorded: [Int16] = []) { self.recorded = recorded }

  func start(at now: Instant) {}
  func stop() {}

  func read(into samples: UnsafeMutableBufferPointer<Int16>, channels: Int, at time: Instant) -> Bool {
    for index in 0..<samples.count / channels {
      let value = recorded.isEmpty ? synthesize() : recorded[position % recorded.count]
      position += 1
      for channel in 0..<channels { samples[index * channels + channel] = value }
    }
    return true
  }

  private func synthesize() -> Int16 {
    let time = Double(position) / 48_000
    phase += 2 * .pi * (140 + 30 * sin(2 * .pi * 0.7 * time)) / 48_000
    let syllable = max(0, sin(2 * .pi * 2.5 * time)) * (time.truncatingRemainder(dividingBy: 3) < 2.4 ? 1 : 0)
    guard syllable > 0 else { return 0 }
    var sum = 0.0
    for harmonic in 1...8 { sum += sin(Double(harmonic) * phase) / Double(harmonic) }
    return Int16(4_000 * syllable * sum)
  }
}

/// Sound from a source to the listener's ear through everything there is: Opus, RTP both ways, a link in
/// virtual time, jitter buffer, decoder, stretching.
final class SimulatedAudioCall {
  struct Options {
    var redundancy = true
    var encoder = OpusEncoder.Configuration()
    var seed: UInt64 = 1
    /// How much faster than ours the sender's sample clock is, in parts per million.
    var clockDrift = 0.0
  }

  var sender: AudioSender
  let playout: AudioPlayout
  let a: RTPSession
  let b: RTPSession
  var aToB: SimulatedLink
  var bToA: SimulatedLink
  private(set) var now = Instant(nanoseconds: 1_000_000_000_000)
  private let audioOut: StreamID
  private var nextCapture: Instant
  private var nextTick: Instant
  private let capturePeriod: Duration
  private let mix = UnsafeMutableBufferPointer<Int32>.allocate(capacity: 960)
  /// What was heard, one channel.
  private(set) var heard: [Int16] = []
  private var packetLoss = 0.0

  init(_ source: any AudioSource, _ conditions: SimulatedLink.Conditions, _ options: Options = Options())
    throws
  {
    mix.initialize(repeating: 0)
    sender = try AudioSender(options.encoder)
    try sender.setSource(source, at: now)
    playout = try AudioPlayout(AudioReceiver(offset: nil))
    aToB = SimulatedLink(conditions, seed: options.seed)
    var back = SimulatedLink.Conditions()
    back.delay = conditions.delay
    bToA = SimulatedLink(back, seed: options.seed &+ 1000)
    func session(_ name: String, _ seed: UInt64) -> RTPSession {
      var configuration = RTPSession.Configuration(
        cname: name, randomSeed: seed, wallClockAtZero: 1_700_000_000_000_000)
      configuration.reducedSizeRTCP = true
      return RTPSession(configuration: configuration)
    }
    a = session("a", options.seed)
    b = session("b", options.seed &+ 77)
    var extensions = HeaderExtensionMap()
    extensions.audioLevel = 1
    extensions.transportSequenceNumber = 3
    var out = SendStreamConfiguration(kind: .audio, ssrc: 0x1111, payloadType: 111)
    out.extensions = extensions
    out.transportCC = true
    out.redundantPayloadType = options.redundancy ? 63 : nil
    audioOut = a.addSendStream(out)
    var into = ReceiveStreamConfiguration(kind: .audio, payloadTypes: [111])
    into.extensions = extensions
    into.transportCC = true
    into.redundantPayloadType = out.redundantPayloadType
    _ = b.addReceiveStream(into)
    capturePeriod = .nanoseconds(Int64(10_000_000 / (1 + options.clockDrift / 1e6)))
    nextCapture = now
    nextTick = now + .milliseconds(3)
  }

  deinit { mix.deallocate() }

  func run(for duration: Duration) {
    let end = now + duration
    while now < end {
      var next = min(end, nextCapture, nextTick)
      for instant in [a.deadline, b.deadline, aToB.nextArrival, bToA.nextArrival] {
        if let instant { next = min(next, instant) }
      }
      now = max(next, now + .microseconds(100))
      step()
    }
  }

  private func step() {
    if now >= nextCapture {
      sender.update(muted: false, packetLoss: packetLoss)
      sender.tick(at: nextCapture - .milliseconds(10)) { frame in a.send(frame, on: audioOut, at: now) }
      nextCapture += capturePeriod
    }
    while let packet = aToB.receive(at: now) { packet.withUnsafeBytes { b.receive($0, at: now) } }
    while let packet = bToA.receive(at: now) { packet.withUnsafeBytes { a.receive($0, at: now) } }
    a.advance(to: now)
    b.advance(to: now)
    a.transmit(at: now) { packet, count, _ in aToB.send(Array(packet[0..<count]), at: now) }
    b.transmit(at: now) { packet, count, _ in bToA.send(Array(packet[0..<count]), at: now) }
    while let event = a.nextEvent() {
      if case .packetLoss(let share) = event { packetLoss = share }
    }
    while let event = b.nextEvent() {
      if case .audioPacket(_, let packet) = event { playout.receiver.push(packet) }
    }
    guard now >= nextTick else { return }
    nextTick += .milliseconds(10)
    mix.update(repeating: 0)
    playout.tick(at: now, arrivedBy: nil, into: mix)
    for index in stride(from: 0, to: 960, by: 2) { heard.append(Int16(clamping: mix[index])) }
  }

  var statistics: AudioJitterBufferStatistics { playout.receiver.statistics.jitterBuffer }
  var concealedShare: Double {
    Double(statistics.concealedSamples) / Double(max(1, statistics.totalSamplesReceived))
  }
}

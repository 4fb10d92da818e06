import Base
import TestSupport
import Testing

@testable import RTP

/// A jitter buffer between a simulated link and an audio thread that takes 10 ms at a time.
struct SimulatedListener {
  var buffer = AudioJitterBuffer()
  var outputs: [(at: Instant, output: AudioJitterBuffer.Output)] = []
  private var available = 0
  /// Samples that were stretched away or in: never a jump of more than one period.
  private(set) var stretches: [(at: Instant, samples: Int)] = []
  /// The period of the sound.
  private let period = 300

  init() {}

  /// What an audio thread does every 10 ms.
  ///
  /// - Returns: what is heard from `now` on; nil before the start.
  @discardableResult
  mutating func tick(at now: Instant) -> AudioPlayoutPosition? {
    fill(at: now)
    // Like a voice that never pauses.
    if let wish = buffer.stretch(waiting: available, at: now), abs(wish.samples) >= period,
      wish.minimumCorrelation <= 0.9
    {
      let samples = wish.samples > 0 ? period : -period
      available -= samples
      stretches.append((now, samples))
      buffer.stretched(by: samples, at: now)
      fill(at: now)
    }
    defer { available -= 480 }
    return buffer.position(waiting: available, at: now)
  }

  private mutating func fill(at now: Instant) {
    while available < 480 {
      let output = buffer.next(at: now)
      outputs.append((now, output))
      switch output {
      case .packet(_, let samples), .recoverFromNext(_, let samples), .conceal(let samples),
        .comfortNoise(let samples), .silence(let samples):
        available += samples
      }
    }
  }

  /// Plays 20 ms packets that came over a link.
  ///
  /// - Parameter isSpoken: whether packet `n` has sound (else nothing is sent: DTX).
  init(
    _ link: SimulatedLink, packets: Int, hasFEC: Bool = true, minimumDelay: Duration = .zero,
    isSpoken: (Int) -> Bool = { _ in true }, change: (Int, inout SimulatedLink) -> Void = { _, _ in }
  ) {
    buffer.minimumDelay = minimumDelay
    var link = link
    var now = Instant(nanoseconds: 5_000_000_000)
    var number: UInt16 = 0
    for packet in 0..<packets {
      change(packet, &link)
      if isSpoken(packet) {
        // The end of speech is said by one tiny packet.
        let size = isSpoken(packet + 1) ? 60 : 1
        var bytes = [UInt8](repeating: 0, count: 8 + size)
        withUnsafeBytes(of: (number, UInt32(packet))) { bytes.replaceSubrange(0..<8, with: $0) }
        link.send(bytes, at: now)
        number += 1
      }
      for _ in 0..<20 {
        now += .milliseconds(1)
        while let bytes = link.receive(at: now) {
          let (number, index) = bytes.withUnsafeBytes {
            ($0.loadUnaligned(as: UInt16.self), $0.loadUnaligned(fromByteOffset: 4, as: UInt32.self))
          }
          buffer.insert(
            ReceivedAudioPacket(
              bytes: [0x78] + [UInt8](repeating: hasFEC ? 0x40 : 0, count: bytes.count - 9),
              sequenceNumber: Int64(number),
              timestamp: Int64(index) * 960, arrival: now))
        }
        if (now.nanoseconds / 1_000_000) % 10 == 3 { tick(at: now) }
      }
    }
    lastTime = now
  }

  private(set) var lastTime = Instant.zero
  var statistics: AudioJitterBufferStatistics { buffer.statistics }
  var concealedShare: Double {
    Double(statistics.concealedSamples) / Double(max(1, statistics.totalSamplesReceived))
  }
  /// Mean time in the buffer, in seconds.
  var meanDelay: Double { statistics.jitterBufferDelay / Double(max(1, statistics.jitterBufferEmittedCount)) }
}

@Suite struct AudioJitterBufferTests {
  private func link(_ seed: UInt64 = 1, _ change: (inout SimulatedLink.Conditions) -> Void) -> SimulatedLink {
    var conditions = SimulatedLink.Conditions()
    conditions.delay = .milliseconds(20)
    change(&conditions)
    return SimulatedLink(conditions, seed: seed)
  }

  @Test func aCleanLinkNeedsHardlyAnyDelay() {
    let listener = SimulatedListener(link { _ in }, packets: 500)
    #expect(listener.statistics.concealedSamples == 0)
    #expect(listener.meanDelay < 0.035)
    #expect(listener.statistics.packetsDiscarded == 0)
  }

  @Test(arguments: 1...10) func jitterIsMadeUpFor(seed: UInt64) {
    let listener = SimulatedListener(link(seed) { $0.jitter = .milliseconds(60) }, packets: 1500)
    #expect(listener.concealedShare < 0.02)
    #expect(listener.meanDelay < 0.1)
  }

  @Test(arguments: 1...10) func lostPacketsAreRecoveredFromTheNext(seed: UInt64) {
    let listener = SimulatedListener(link(seed) { $0.loss = 0.05 }, packets: 1000)
    let recovered = listener.outputs.filter { if case .recoverFromNext = $0.output { true } else { false } }
    #expect((20...80).contains(recovered.count))
    #expect(listener.statistics.framesRecovered == recovered.count)
    #expect(listener.concealedShare < 0.02)
    #expect(listener.meanDelay < 0.06)
    let without = SimulatedListener(link(seed) { $0.loss = 0.05 }, packets: 1000, hasFEC: false)
    #expect(without.statistics.framesRecovered == 0)
    #expect(without.concealedShare > 0.025 && without.concealedShare < 0.09)
  }

  @Test func reorderedAndDuplicatedPacketsAreNoLoss() {
    let listener = SimulatedListener(
      link {
        $0.reorder = 0.05
        $0.reorderDelay = .milliseconds(30)
        $0.duplicate = 0.05
      }, packets: 1500)
    #expect(listener.concealedShare < 0.01)
    #expect(listener.statistics.packetsDuplicated > 20)
  }

  @Test func pausesOfTheSenderAreNoLoss() {
    // 2 s of speech, 3 s of silence with a packet every 400 ms, as Opus does.
    let listener = SimulatedListener(
      link { _ in }, packets: 2000, isSpoken: { $0 % 250 < 100 || $0 % 20 == 0 })
    #expect(listener.statistics.concealedSamples == 0)
    #expect(listener.statistics.packetsDiscarded == 0)
    #expect(listener.outputs.contains { $0.output == .comfortNoise(samples: 480) })
  }

  @Test func theDelayComesDownAfterASpike() {
    let listener = SimulatedListener(
      link { _ in }, packets: 1000,
      change: { packet, link in
        link.conditions.delay = (200..<215).contains(packet) ? .milliseconds(320) : .milliseconds(20)
      })
    // Held up for 300 ms, it does not stay late for long.
    let delay = listener.buffer.currentDelay(at: listener.lastTime) ?? .seconds(9)
    #expect(delay < .milliseconds(60), "\(delay)")
    #expect(listener.statistics.removedSamplesForAcceleration > 0)
  }

  @Test func aBlackoutEndsWithoutDelay() {
    let listener = SimulatedListener(
      link { _ in }, packets: 600,
      change: { packet, link in
        link.conditions.isBlackedOut = (200..<300).contains(packet)
      })
    let delay = listener.buffer.currentDelay(at: listener.lastTime) ?? .seconds(9)
    #expect(delay < .milliseconds(60), "\(delay)")
    #expect(listener.statistics.silentConcealedSamples > 48_000)
    #expect(listener.statistics.concealmentEvents == 1)
  }

  @Test func whatCameBeforeAnybodyListenedIsLeftOut() {
    var buffer = AudioJitterBuffer()
    var now = Instant(nanoseconds: 1_000_000_000)
    for packet in 0..<20 {
      buffer.insert(
        ReceivedAudioPacket(
          bytes: [0x78, 0, UInt8(packet)], sequenceNumber: Int64(packet), timestamp: Int64(packet) * 960,
          arrival: now))
      now += .milliseconds(20)
    }
    guard case .packet(let bytes, samples: 960) = buffer.next(at: now) else {
      Issue.record("nothing to play")
      return
    }
    #expect(bytes[2] >= 17)
    let delay = buffer.currentDelay(at: now) ?? .zero
    #expect(delay < .milliseconds(50))
    #expect(buffer.statistics.concealedSamples == 0 && buffer.statistics.removedSamplesForAcceleration == 0)
  }

  @Test func lipSyncSetsTheLeastDelay() {
    let listener = SimulatedListener(link { _ in }, packets: 500, minimumDelay: .milliseconds(200))
    let delay = listener.buffer.currentDelay(at: listener.lastTime) ?? .zero
    #expect(delay >= .milliseconds(180) && delay < .milliseconds(240), "\(delay)")
  }

  @Test func theDelayIsRaisedForThePicture() {
    var listener = SimulatedListener(link { _ in }, packets: 100)
    listener.buffer.minimumDelay = .milliseconds(150)
    var now = listener.lastTime
    for packet in 100..<400 {
      listener.buffer.insert(
        ReceivedAudioPacket(
          bytes: [0x78, 1, 1, 1], sequenceNumber: Int64(packet), timestamp: Int64(packet) * 960, arrival: now)
      )
      listener.tick(at: now)
      listener.tick(at: now + .milliseconds(10))
      now += .milliseconds(20)
    }
    let delay = listener.buffer.currentDelay(at: now) ?? .zero
    #expect(delay >= .milliseconds(130), "\(delay)")
    #expect(listener.statistics.insertedSamplesForDeceleration > 0)
    #expect(listener.statistics.concealedSamples == 0)
  }

  @Test func durationsOfOpusPackets() {
    #expect(OpusPacket.samples([0x78, 0]) == 960)  // hybrid, 20 ms
    #expect(OpusPacket.samples([0x08]) == 960)  // SILK, 20 ms
    #expect(OpusPacket.samples([0xE0]) == 120)  // CELT, 2.5 ms
    #expect(OpusPacket.samples([0x19, 0]) == 5760)  // two of 60 ms
    #expect(OpusPacket.samples([0x1B, 3]) == nil)  // 180 ms
    #expect(OpusPacket.samples([0x7B, 3]) == 2880)
    #expect(OpusPacket.samples([]) == nil)
    #expect(OpusPacket.samples([0x03]) == nil)
  }

  @Test func fecIsKnownByItsFlag() {
    #expect(OpusPacket.hasFEC([0x78, 0x40]))  // hybrid, mono
    #expect(!OpusPacket.hasFEC([0x78, 0x80]))  // voice, no FEC
    #expect(OpusPacket.hasFEC([0x4C, 0x10]))  // SILK, stereo: in the side channel
    #expect(OpusPacket.hasFEC([0x50, 0x20]))  // SILK, 40 ms
    #expect(!OpusPacket.hasFEC([0xFC, 0xFF]))  // CELT
    #expect(!OpusPacket.hasFEC([0x78]))
  }

  @Test func nothingThatArrivesStopsTheSound() {
    for seed in 1...50 as ClosedRange<UInt64> {
      var random = SeededGenerator(seed: seed)
      var buffer = AudioJitterBuffer()
      var now = Instant(nanoseconds: 1_000_000_000)
      var samples = 0
      for _ in 0..<500 {
        let wild = Bool.random(using: &random)
        buffer.insert(
          ReceivedAudioPacket(
            bytes: (0..<Int.random(in: 0...20, using: &random)).map { _ in
              .random(in: 0...255, using: &random)
            },
            sequenceNumber: wild
              ? .random(in: 0...100_000, using: &random) : .random(in: 0...50, using: &random),
            timestamp: wild
              ? .random(in: .min ... .max, using: &random) : .random(in: 0...50_000, using: &random),
            arrival: now))
        now += .milliseconds(Int.random(in: 0...40, using: &random))
        for _ in 0..<3 {
          switch buffer.next(at: now) {
          case .packet(_, let count), .recoverFromNext(_, let count), .conceal(let count),
            .comfortNoise(let count), .silence(let count):
            #expect(count > 0 && count <= OpusPacket.maximumSamples)
            samples += count
          }
        }
      }
      #expect(samples > 0)
    }
  }
}

import Base
import Glibc
import Testing

@testable import Codecs

@Suite struct OpusTests {
  private func encode(_ encoder: inout OpusEncoder, _ samples: [Int16]) throws -> [UInt8] {
    try samples.withUnsafeBufferPointer { try encoder.encode($0) }
  }

  private func decode(_ decoder: inout OpusDecoder, _ packet: [UInt8]) throws -> [Int16] {
    var output = [Int16](repeating: 0, count: OpusDecoder.maximumSamples * decoder.channels)
    let count = try packet.withUnsafeBufferPointer { packet in
      try output.withUnsafeMutableBufferPointer { try decoder.decode(packet, into: $0) }
    }
    return Array(output[..<(count * decoder.channels)])
  }

  @Test(arguments: [1, 2])
  func toneSurvives(channels: Int) throws {
    var configuration = OpusEncoder.Configuration()
    configuration.channels = channels
    var encoder = try OpusEncoder(configuration)
    var decoder = try OpusDecoder(channels: channels)
    var heard: [Int16] = []
    var bytes = 0
    for packet in 0..<50 {
      let encoded = try encode(&encoder, sine(440, start: packet * 960, count: 960, channels: channels))
      bytes += encoded.count
      let samples = try decode(&decoder, encoded)
      #expect(samples.count == 960 * channels)
      if packet >= 25 { heard += stride(from: 0, to: samples.count, by: channels).map { samples[$0] } }
    }
    #expect(share(of: 440, in: heard) > 0.98)
    #expect(share(of: 550, in: heard) < 0.01)
    #expect(heard.max() ?? 0 > 8_000)
    #expect(bytes * 8 < 60_000)
  }

  /// A voice-like sound: harmonics of a pitch that jumps from packet to packet, so that what comes next
  /// cannot be guessed.
  private func voice(packets: Int) -> [[Int16]] {
    var generator = SeededGenerator(seed: 5)
    var phase = 0.0
    return (0..<packets).map { _ in
      let pitch = Double.random(in: 150...250, using: &generator)
      let loudness = Double.random(in: 1_000...3_000, using: &generator)
      return (0..<960).map { _ in
        phase += 2 * .pi * pitch / 48_000
        var value = 0.0
        for harmonic in 1...8 { value += sin(phase * Double(harmonic)) / Double(harmonic) }
        return Int16(value * loudness)
      }
    }
  }

  @Test func lostPacketsAreRecoveredFromTheNextOne() throws {
    var configuration = OpusEncoder.Configuration()
    configuration.expectedPacketLoss = 20
    var encoder = try OpusEncoder(configuration)
    let packets = try voice(packets: 120).map { try encode(&encoder, $0) }
    var lossless = try OpusDecoder(channels: 1)
    let reference = try packets.map { try decode(&lossless, $0) }

    var recovering = try OpusDecoder(channels: 1)
    var concealing = try OpusDecoder(channels: 1)
    var output = [Int16](repeating: 0, count: OpusDecoder.maximumSamples)
    var lostEnergy = 0.0
    var recoveredError = 0.0
    var concealedError = 0.0
    func error(_ index: Int) -> Double {
      zip(reference[index], output).reduce(0) { sum, pair in
        let difference = Double(pair.0) - Double(pair.1)
        return sum + difference * difference
      }
    }
    for index in packets.indices {
      guard index % 5 == 4, index + 1 < packets.count else {
        _ = try decode(&recovering, packets[index])
        _ = try decode(&concealing, packets[index])
        continue
      }
      lostEnergy += reference[index].reduce(0) { $0 + Double($1) * Double($1) }
      let count = try packets[index + 1].withUnsafeBufferPointer { next in
        try output.withUnsafeMutableBufferPointer {
          try recovering.recover(samples: 960, from: next, into: $0)
        }
      }
      #expect(count == 960)
      recoveredError += error(index)
      _ = try output.withUnsafeMutableBufferPointer { try concealing.conceal(samples: 960, into: $0) }
      concealedError += error(index)
    }
    #expect(recoveredError < lostEnergy * 0.3, "\(recoveredError / lostEnergy)")
    #expect(concealedError > lostEnergy * 0.6, "\(concealedError / lostEnergy)")
  }

  @Test func silenceWithDiscontinuousTransmissionIsNearlyFree() throws {
    var configuration = OpusEncoder.Configuration()
    configuration.discontinuousTransmission = true
    var encoder = try OpusEncoder(configuration)
    for packet in 0..<25 { _ = try encode(&encoder, sine(440, start: packet * 960, count: 960)) }
    var worthSending = 0
    var bytes = 0
    for packet in 0..<500 {
      let encoded = try encode(&encoder, [Int16](repeating: 0, count: 960))
      if packet >= 50, encoded.count > 2 {
        worthSending += 1
        bytes += encoded.count
      }
    }
    // One packet every 400 ms.
    #expect((20...25).contains(worthSending))
    #expect(bytes < 1_000)
  }

  @Test func bitrateChangesOnTheFly() throws {
    var encoder = try OpusEncoder()
    var generator = SeededGenerator(seed: 1)
    var configuration = encoder.configuration
    var sizes: [Int] = []
    for bitrate in [64_000, 16_000] {
      configuration.bitrate = bitrate
      encoder.update(configuration)
      var bytes = 0
      for _ in 0..<50 {
        bytes += try encode(
          &encoder, (0..<960).map { _ in Int16.random(in: -8000...8000, using: &generator) }
        )
        .count
      }
      sizes.append(bytes * 8)
    }
    #expect((45_000...75_000).contains(sizes[0]))
    #expect((10_000...22_000).contains(sizes[1]))
  }

  @Test func configurationIsClamped() throws {
    var encoder = try OpusEncoder()
    var configuration = encoder.configuration
    configuration.bitrate = .max
    configuration.complexity = -3
    configuration.expectedPacketLoss = 1000
    configuration.channels = 2
    encoder.update(configuration)
    #expect(encoder.configuration.bitrate == 510_000)
    #expect(encoder.configuration.complexity == 0)
    #expect(encoder.configuration.expectedPacketLoss == 100)
    #expect(encoder.configuration.channels == 1)
  }

  @Test func wrongSampleCountIsAnError() throws {
    var encoder = try OpusEncoder()
    #expect(throws: CodecError.self) { try self.encode(&encoder, [Int16](repeating: 0, count: 7)) }
    #expect(throws: CodecError.self) { try self.encode(&encoder, []) }
  }

  @Test func anyShortPacketIsDecodedOrRefused() throws {
    var decoder = try OpusDecoder(channels: 2)
    var refused = 0
    for first in UInt8.min...UInt8.max {
      for packet in [[first], [first, 0], [first, 0x3F], [first, 0xFF], [first, 1, 2, 3]] {
        do {
          let samples = try decode(&decoder, packet)
          #expect(samples.count <= OpusDecoder.maximumSamples * 2)
        } catch {
          refused += 1
        }
      }
    }
    #expect(refused > 0)
    #expect(throws: CodecError.corruptPacket) { try self.decode(&decoder, []) }
  }

  @Test func noiseIsDecodedOrRefused() throws {
    var decoder = try OpusDecoder(channels: 1)
    var generator = SeededGenerator(seed: 7)
    for _ in 0..<500 {
      let count = Int.random(in: 1...1500, using: &generator)
      let packet = (0..<count).map { _ in UInt8.random(in: 0...255, using: &generator) }
      if let samples = try? decode(&decoder, packet) { #expect(samples.count <= OpusDecoder.maximumSamples) }
    }
  }
}

import Base
import Glibc
import RTP
import TestSupport
import Testing

@testable import MediaIO

/// Writes what speech sounds like after bad networks, for `Tests/Network/speech_quality.py` to score; without
/// it there is nothing to do.
@Suite(.enabled(if: getenv("OTCHAT_SPEECH") != nil)) struct SpeechQualityTests {
  /// OTCHAT_SPEECH: 48 kHz mono, 16-bit samples without header; OTCHAT_SPEECH_OUT: a folder.
  @Test func speechIsWritten() throws {
    let speech = try samples(String(cString: try #require(getenv("OTCHAT_SPEECH"))))
    let folder = String(cString: try #require(getenv("OTCHAT_SPEECH_OUT")))
    func run(
      _ name: String, _ options: SimulatedAudioCall.Options = .init(),
      _ change: (inout SimulatedLink.Conditions) -> Void
    ) throws {
      for seed in 1...UInt64(3) {
        var conditions = SimulatedLink.Conditions()
        conditions.delay = .milliseconds(50)
        change(&conditions)
        var options = options
        options.seed = seed
        let source = VoiceSource(recorded: speech)
        let call = try SimulatedAudioCall(source, conditions, options)
        call.run(for: .seconds(17))
        try write(call.heard, "\(folder)/\(name)-\(seed).heard")
      }
    }
    try run("clean") { _ in }
    try run("loss5") { $0.loss = 0.05 }
    try run("loss10") { $0.loss = 0.10 }
    try run("loss20") { $0.loss = 0.20 }
    try run("burst") {
      $0.loss = 0.05
      $0.lossBurst = 4
    }
    try run("jitter") {
      $0.jitter = .milliseconds(60)
      $0.reorder = 0.02
      $0.duplicate = 0.02
    }
    var drift = SimulatedAudioCall.Options()
    drift.clockDrift = 2_000
    try run("drift", drift) { _ in }
    // As with a peer that does not take copies.
    var plain = SimulatedAudioCall.Options()
    plain.redundancy = false
    try run("inband5", plain) { $0.loss = 0.05 }
  }

  private func samples(_ path: String) throws -> [Int16] {
    let file = try #require(fopen(path, "r"))
    defer { fclose(file) }
    var result = [Int16](repeating: 0, count: 48_000 * 30)
    let count = result.withUnsafeMutableBytes { fread($0.baseAddress, 2, 48_000 * 30, file) }
    return Array(result[..<count])
  }

  private func write(_ samples: [Int16], _ path: String) throws {
    let file = try #require(fopen(path, "w"))
    defer { fclose(file) }
    _ = samples.withUnsafeBytes { fwrite($0.baseAddress, 2, samples.count, file) }
  }
}

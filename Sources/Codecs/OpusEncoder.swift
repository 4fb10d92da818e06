import COpus

/// Encodes 48 kHz sound to Opus packets (RFC 6716, 7587). Confined to one thread.
package struct OpusEncoder: ~Copyable {
  package struct Configuration: Sendable, Equatable {
    /// 1 or 2.
    package var channels = 1
    /// Bits per second, 6,000 to 510,000.
    package var bitrate = 40_000
    /// 0 (cheap) to 10 (best).
    package var complexity = 9
    /// Each packet also holds a coarse copy of the one before, once loss is expected.
    package var forwardErrorCorrection = true
    /// In silence, packets of 1 or 2 bytes that need not be sent, and one of sound every 400 ms.
    package var discontinuousTransmission = false
    /// Percent, 0 to 100; decides how much of the bitrate error correction takes.
    package var expectedPacketLoss = 0

    package init() {}
  }

  private static let maximumPacketSize = 1275  // RFC 6716, 3.4

  package private(set) var configuration: Configuration
  private let handle: OpaquePointer
  private let scratch = UnsafeMutablePointer<UInt8>.allocate(capacity: Self.maximumPacketSize)

  package init(_ configuration: Configuration = Configuration()) throws(CodecError) {
    let channels = Int32(min(max(configuration.channels, 1), 2))
    // VoIP favours speech and keeps error correction possible at any bitrate; stereo is asked for music.
    let application = channels == 1 ? OPUS_APPLICATION_VOIP : OPUS_APPLICATION_AUDIO
    var status: Int32 = 0
    let created = opus_encoder_create(Int32(AudioFormat.sampleRate), channels, application, &status)
    self.configuration = configuration
    self.configuration.channels = Int(channels)
    guard let created, status == OPUS_OK else {
      scratch.deallocate()
      throw .unavailable(codec: "Opus", reason: String(cString: opus_strerror(status)))
    }
    handle = created
    update(self.configuration)
  }

  deinit {
    opus_encoder_destroy(handle)
    scratch.deallocate()
  }

  /// Takes effect with the next packet. The number of channels stays as it is; values out of range are
  /// clamped.
  package mutating func update(_ new: Configuration) {
    let channels = configuration.channels
    configuration = new
    configuration.channels = channels
    configuration.bitrate = min(max(new.bitrate, 6_000), 510_000)
    configuration.complexity = min(max(new.complexity, 0), 10)
    configuration.expectedPacketLoss = min(max(new.expectedPacketLoss, 0), 100)
    set(OPUS_SET_BITRATE_REQUEST, configuration.bitrate)
    set(OPUS_SET_COMPLEXITY_REQUEST, configuration.complexity)
    set(OPUS_SET_INBAND_FEC_REQUEST, configuration.forwardErrorCorrection ? 1 : 0)
    set(OPUS_SET_DTX_REQUEST, configuration.discontinuousTransmission ? 1 : 0)
    set(OPUS_SET_PACKET_LOSS_PERC_REQUEST, configuration.expectedPacketLoss)
  }

  private func set(_ request: Int32, _ value: Int) {
    // Every value is in the range that libopus documents, and the handle is valid.
    _ = otchat_opus_encoder_set(handle, request, Int32(value))
  }

  /// One packet of interleaved samples; 2.5, 5, 10, 20, 40 or 60 ms of them.
  package mutating func encode(_ samples: UnsafeBufferPointer<Int16>) throws(CodecError) -> [UInt8] {
    let perChannel = samples.count / configuration.channels
    guard let base = samples.baseAddress, perChannel * configuration.channels == samples.count else {
      throw .unsupportedFormat("\(samples.count) samples for \(configuration.channels) channels")
    }
    let count = opus_encode(handle, base, Int32(perChannel), scratch, Int32(Self.maximumPacketSize))
    guard count > 0 else { throw .encodingFailed(String(cString: opus_strerror(count))) }
    return Array(UnsafeBufferPointer(start: scratch, count: Int(count)))
  }
}

import COpus

/// Decodes Opus packets to 48 kHz sound. Confined to one thread. Whatever a peer sends is either decoded
/// or refused; it never traps.
package struct OpusDecoder: ~Copyable {
  /// The longest packet there is: 120 ms (RFC 6716, 3.2.5), in samples a channel.
  package static let maximumSamples = 5760

  /// 1 or 2; independent of what was encoded, libopus mixes up or down.
  package let channels: Int
  private let handle: OpaquePointer

  package init(channels: Int) throws(CodecError) {
    self.channels = min(max(channels, 1), 2)
    var status: Int32 = 0
    let created = opus_decoder_create(Int32(AudioFormat.sampleRate), Int32(self.channels), &status)
    guard let created, status == OPUS_OK else {
      throw .unavailable(codec: "Opus", reason: String(cString: opus_strerror(status)))
    }
    handle = created
  }

  deinit { opus_decoder_destroy(handle) }

  /// Writes the packet's interleaved samples to `output`, which should hold `maximumSamples` a channel.
  /// - Returns: samples a channel.
  package mutating func decode(
    _ packet: UnsafeBufferPointer<UInt8>, into output: UnsafeMutableBufferPointer<Int16>
  ) throws(CodecError) -> Int {
    guard packet.count > 0 else { throw .corruptPacket }
    return try run(packet, output, output.count / channels, useForwardErrorCorrection: false)
  }

  /// Reconstructs `samples` a channel that were lost just before `next` from the coarse copy in it; as
  /// good as `conceal` if it has none.
  package mutating func recover(
    samples: Int, from next: UnsafeBufferPointer<UInt8>, into output: UnsafeMutableBufferPointer<Int16>
  ) throws(CodecError) -> Int {
    guard next.count > 0 else { throw .corruptPacket }
    return try run(next, output, samples, useForwardErrorCorrection: true)
  }

  /// Invents `samples` a channel (a multiple of 120) in place of a lost packet.
  package mutating func conceal(samples: Int, into output: UnsafeMutableBufferPointer<Int16>)
    throws(CodecError) -> Int
  {
    try run(UnsafeBufferPointer(start: nil, count: 0), output, samples, useForwardErrorCorrection: false)
  }

  /// Forgets everything, as at the start of a stream.
  package mutating func reset() { _ = otchat_opus_decoder_reset(handle) }

  private func run(
    _ packet: UnsafeBufferPointer<UInt8>, _ output: UnsafeMutableBufferPointer<Int16>, _ samples: Int,
    useForwardErrorCorrection: Bool
  ) throws(CodecError) -> Int {
    guard let target = output.baseAddress, samples > 0, samples * channels <= output.count,
      packet.count <= Int(Int32.max)
    else { throw .unsupportedFormat("\(samples) samples into \(output.count)") }
    let count = opus_decode(
      handle, packet.baseAddress, Int32(packet.count), target, Int32(samples),
      useForwardErrorCorrection ? 1 : 0)
    guard count > 0 else { throw .corruptPacket }
    return Int(count)
  }
}

/// The audio thread's unit: 10 ms of 48 kHz sound, interleaved signed 16-bit samples.
package enum AudioFormat {
  package static let sampleRate = 48_000
  /// Samples a channel in one 10 ms chunk.
  package static let samplesPerChunk = 480
  /// Samples a channel in one encoded packet (20 ms).
  package static let samplesPerPacket = 960
}

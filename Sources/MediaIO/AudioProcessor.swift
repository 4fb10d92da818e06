import CAudioProcessing
import Codecs

/// Takes the echo of the loudspeaker and steady noise out of a microphone's sound and evens its level. Confined
/// to the audio thread, on which both ends of the echo pass by 10 ms at a time.
final class AudioProcessor {
  private let handle: OpaquePointer

  /// Nil if the library cannot be had.
  init?() {
    guard let handle = otchat_audio_processing_new() else { return nil }
    self.handle = handle
  }

  deinit { otchat_audio_processing_free(handle) }

  /// - Parameter samples: 10 ms for the loudspeaker, interleaved stereo.
  func played(_ samples: UnsafeBufferPointer<Int16>) {
    guard samples.count == 2 * AudioFormat.samplesPerChunk else { return }
    otchat_audio_processing_played(handle, samples.baseAddress)
  }

  /// - Parameters:
  ///   - samples: 10 ms of the microphone, changed in place; of several channels the first is taken.
  ///   - delay: from `played` to where the same sound comes back, in seconds, without the way through the air.
  func captured(_ samples: UnsafeMutableBufferPointer<Int16>, channels: Int, delay: Double) {
    let frames = AudioFormat.samplesPerChunk
    guard channels > 0, samples.count == channels * frames else { return }
    let milliseconds = Int32(min(max(delay, 0), 1) * 1000)
    if channels == 1 { return otchat_audio_processing_captured(handle, samples.baseAddress, milliseconds) }
    withUnsafeTemporaryAllocation(of: Int16.self, capacity: frames) { mono in
      for frame in 0..<frames { mono[frame] = samples[frame * channels] }
      otchat_audio_processing_captured(handle, mono.baseAddress, milliseconds)
      for index in samples.indices { samples[index] = mono[index / channels] }
    }
  }
}

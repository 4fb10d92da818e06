import Base

/// Where sound comes from. Used by one thread at a time: whoever made it hands it to an engine, which
/// calls it on the audio thread. Nothing here may block.
package protocol AudioSource: AnyObject {
  /// For people: `440 Hz tone`, `clip.mp4`.
  var name: String { get }

  func start(at now: Instant) throws(SourceError)

  /// Fills 10 ms of interleaved samples: 480 for each of 1 or 2 channels.
  /// - Parameter time: when the first of them sounded; 10 ms after that of the last call, or more if
  ///   the audio thread was held up.
  /// - Returns: false when there will be no more sound; the samples are then silence.
  func read(into samples: UnsafeMutableBufferPointer<Int16>, channels: Int, at time: Instant) -> Bool

  func stop()

  /// Of a device; nil for what is none.
  var statistics: AudioDeviceStatistics? { get }
}

extension AudioSource {
  package var statistics: AudioDeviceStatistics? { nil }
}

/// Where sound goes. Used by one thread at a time, as `AudioSource`. Nothing here may block.
package protocol AudioSink: AnyObject {
  var name: String { get }

  func start(at now: Instant) throws(SourceError)

  /// Takes 10 ms of interleaved stereo samples: 480 a channel. They may come in pairs, every 20 ms.
  func write(_ samples: UnsafeBufferPointer<Int16>)

  func stop()

  /// Of a device; nil for what is none.
  var statistics: AudioDeviceStatistics? { get }
}

extension AudioSink {
  package var statistics: AudioDeviceStatistics? { nil }
}

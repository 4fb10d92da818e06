import Base
import Codecs

/// How a sound device and the buffer to it have been doing, since the start.
package struct AudioDeviceStatistics: Sendable, Equatable {
  /// Times when there was too little sound, and for how long silence took its place, in seconds.
  package var underruns = 0
  package var missing = 0.0
  /// Sound that was thrown away, in seconds.
  package var dropped = 0.0
  /// Times when the device itself ran dry or over.
  package var xruns = 0
  /// Between the device and the audio thread at present, in seconds.
  package var delay = 0.0
}

extension AudioDeviceStatistics {
  init(_ loop: SoundDeviceLoop) {
    let (buffer, device) = (loop.buffer.statistics, loop.statistics)
    let rate = Double(AudioFormat.sampleRate)
    underruns = buffer.underruns
    missing = Double(buffer.missingFrames) / rate
    dropped = Double(buffer.droppedFrames) / rate
    xruns = device.xruns
    delay = Double(buffer.fill) / rate + Double(device.delay) / Double(max(1, device.rate))
  }
}

/// `mic[:NAME]`.
final class Microphone: AudioSource {
  let name: String
  private let loop: SoundDeviceLoop

  init(_ name: String?, notice: @escaping @Sendable (String) -> Void) throws(SourceError) {
    loop = try SoundDeviceLoop(name, .capture, notice: notice)
    self.name = loop.title
  }

  deinit { loop.stop() }

  func start(at now: Instant) { loop.start() }

  func read(into samples: UnsafeMutableBufferPointer<Int16>, channels: Int, at time: Instant) -> Bool {
    guard channels > 1 else {
      loop.buffer.read(into: samples)
      return true
    }
    let frames = samples.count / channels
    loop.buffer.read(into: UnsafeMutableBufferPointer(rebasing: samples[..<frames]))
    for frame in (0..<frames).reversed() {
      for channel in 0..<channels { samples[frame * channels + channel] = samples[frame] }
    }
    return true
  }

  func stop() { loop.stop() }

  var statistics: AudioDeviceStatistics? { AudioDeviceStatistics(loop) }
}

/// `speaker[:NAME]`.
final class Loudspeaker: AudioSink {
  let name: String
  private let loop: SoundDeviceLoop

  init(_ name: String?, notice: @escaping @Sendable (String) -> Void) throws(SourceError) {
    loop = try SoundDeviceLoop(name, .playback, notice: notice)
    self.name = loop.title
  }

  deinit { loop.stop() }

  func start(at now: Instant) { loop.start() }

  func write(_ samples: UnsafeBufferPointer<Int16>) { loop.buffer.write(samples) }

  func stop() { loop.stop() }

  var statistics: AudioDeviceStatistics? { AudioDeviceStatistics(loop) }
}

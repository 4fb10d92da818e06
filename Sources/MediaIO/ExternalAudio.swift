import Base
import Codecs

/// Sound from a device that somebody else drives, at its own pace and rate.
package final class ExternalAudioSource: AudioSource, Sendable {
  package let name: String
  private let buffer: ElasticBuffer
  private let channels: Int
  private let converter: Lock<DeviceConverter>
  private let isStarted = Lock(false)
  private let switches: @Sendable (Bool) -> Void
  private let delay: @Sendable () -> Duration

  /// - Parameters:
  ///   - rate: of the device, 8,000 to 192,000 frames a second; others than 48,000 need ffmpeg's libraries.
  ///   - channels: 1 or 2.
  ///   - delay: between the microphone and `write`, as the device estimates it. On the audio thread.
  ///   - switches: capture is to begin, or to end. On the audio thread; must not block.
  package init(
    name: String, rate: Int, channels: Int, delay: @escaping @Sendable () -> Duration,
    switches: @escaping @Sendable (Bool) -> Void
  ) throws(SourceError) {
    self.name = name
    self.channels = channels
    self.switches = switches
    self.delay = delay
    buffer = ElasticBuffer(channels: channels)
    converter = Lock(try DeviceConverter(capture: true, rate: rate, channels: channels))
  }

  /// Captured sound, interleaved. Any thread; does not block.
  /// - Returns: frames taken; none while nobody wants sound.
  package func write(_ samples: UnsafeBufferPointer<Int16>) -> Int {
    guard isStarted.withLock({ $0 }) else { return 0 }
    let frames = samples.count / channels
    let whole = UnsafeBufferPointer(rebasing: samples[..<(frames * channels)])
    converter.withLock { $0.convert(whole) { buffer.write($0) } }
    return frames
  }

  package func start(at now: Instant) {
    isStarted.withLock { $0 = true }
    switches(true)
  }

  package func stop() {
    isStarted.withLock { $0 = false }
    switches(false)
  }

  package func read(
    into samples: UnsafeMutableBufferPointer<Int16>, channels: Int, at time: Instant
  ) -> Bool {
    if channels == self.channels {
      buffer.read(into: samples)
    } else if channels == 2 {
      let frames = samples.count / 2
      buffer.read(into: UnsafeMutableBufferPointer(rebasing: samples[..<frames]))
      for frame in (0..<frames).reversed() {
        (samples[2 * frame], samples[2 * frame + 1]) = (samples[frame], samples[frame])
      }
    } else {
      withUnsafeTemporaryAllocation(of: Int16.self, capacity: 2 * samples.count) { stereo in
        buffer.read(into: stereo)
        mix(UnsafeBufferPointer(stereo), into: samples)
      }
    }
    return true
  }

  package var statistics: AudioDeviceStatistics? { AudioDeviceStatistics(buffer, delay: delay()) }
}

/// Sound to a device that somebody else drives, at its own pace and rate.
package final class ExternalAudioSink: AudioSink, Sendable {
  private struct Output {
    var converter: DeviceConverter
    /// Converted sound that the device has not taken yet; from `taken` on.
    var samples: [Int16] = []
    var taken = 0
  }

  package let name: String
  private let buffer = ElasticBuffer(channels: 2)
  private let channels: Int
  private let output: Lock<Output>
  private let switches: @Sendable (Bool) -> Void
  private let delay: @Sendable () -> Duration

  /// As `ExternalAudioSource`.
  package init(
    name: String, rate: Int, channels: Int, delay: @escaping @Sendable () -> Duration,
    switches: @escaping @Sendable (Bool) -> Void
  ) throws(SourceError) {
    self.name = name
    self.channels = channels
    self.switches = switches
    self.delay = delay
    output = Lock(Output(converter: try DeviceConverter(capture: false, rate: rate, channels: channels)))
  }

  /// Fills `samples`, interleaved, with what is to be heard next, or with silence. Any thread; does not block.
  package func read(into samples: UnsafeMutableBufferPointer<Int16>) {
    output.withLock { output in
      var filled = 0
      // Whole frames, or left and right would change places.
      let wanted = samples.count / channels * channels
      while filled < wanted {
        if output.taken == output.samples.count { next(&output) }
        let count = min(wanted - filled, output.samples.count - output.taken)
        // A converter may have nothing for us yet.
        guard count > 0 else { break }
        for index in 0..<count { samples[filled + index] = output.samples[output.taken + index] }
        filled += count
        output.taken += count
      }
      UnsafeMutableBufferPointer(rebasing: samples[filled...]).update(repeating: 0)
    }
  }

  /// 10 ms of what is there to be heard, in the device's form.
  private func next(_ output: inout Output) {
    let frames = AudioFormat.samplesPerChunk
    output.samples.removeAll(keepingCapacity: true)
    output.taken = 0
    withUnsafeTemporaryAllocation(of: Int16.self, capacity: 3 * frames) { room in
      let stereo = UnsafeMutableBufferPointer(rebasing: room[..<(2 * frames)])
      let mono = UnsafeMutableBufferPointer(rebasing: room[(2 * frames)...])
      buffer.read(into: stereo)
      if channels == 1 { mix(UnsafeBufferPointer(stereo), into: mono) }
      let converter = output.converter
      converter.convert(UnsafeBufferPointer(channels == 1 ? mono : stereo)) {
        output.samples.append(contentsOf: $0)
      }
    }
  }

  package func start(at now: Instant) { switches(true) }
  package func stop() { switches(false) }
  package func write(_ samples: UnsafeBufferPointer<Int16>) { buffer.write(samples) }

  package var statistics: AudioDeviceStatistics? { AudioDeviceStatistics(buffer, delay: delay()) }
}

/// A device's rate converter, which goes from thread to thread with the lock that it lies in.
private struct DeviceConverter: @unchecked Sendable {
  // Safe to send: made for the lock that holds it, and used only while that is held.
  private let converter: SampleConverter

  init(capture: Bool, rate: Int, channels: Int) throws(SourceError) {
    converter = try SampleConverter(capture: capture, device: (rate, channels), channels: channels)
  }

  func convert(_ samples: UnsafeBufferPointer<Int16>, _ body: (UnsafeBufferPointer<Int16>) -> Void) {
    guard !samples.isEmpty else { return }
    converter.convert(samples, body)
  }
}

/// Both channels' mean.
private func mix(_ stereo: UnsafeBufferPointer<Int16>, into mono: UnsafeMutableBufferPointer<Int16>) {
  for frame in mono.indices {
    mono[frame] = Int16(truncatingIfNeeded: (Int32(stereo[2 * frame]) + Int32(stereo[2 * frame + 1])) / 2)
  }
}

extension AudioDeviceStatistics {
  fileprivate init(_ buffer: ElasticBuffer, delay: Duration) {
    let statistics = buffer.statistics
    let rate = Double(AudioFormat.sampleRate)
    self.init(
      underruns: statistics.underruns, missing: Double(statistics.missingFrames) / rate,
      dropped: Double(statistics.droppedFrames) / rate, xruns: 0,
      delay: Double(statistics.fill) / rate + delay.seconds)
  }
}

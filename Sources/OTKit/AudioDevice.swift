/// Samples of a device: 16 bits, interleaved.
public struct AudioDeviceFormat: Sendable, Hashable {
  /// Frames a second, 8,000 to 192,000. Others than 48,000 are converted, which takes ffmpeg's libraries.
  public var sampleRate: Int
  /// 1 or 2.
  public var channels: Int

  public init(sampleRate: Int = 48_000, channels: Int = 1) {
    self.sampleRate = sampleRate
    self.channels = channels
  }
}

/// A sound device of your own: `Session.Configuration.audioDevice`.
///
/// It has a clock of its own: whenever it has captured something it writes that to the bus, and whenever it needs
/// something to play it reads that from the bus, at its own pace. That its clock and that of the others drift apart is
/// dealt with behind the bus.
///
/// **Order.** `setAudioBus` with a bus; `startCapture` and `stopCapture` in turn, while something is published, and
/// `startRendering` and `stopRendering`, while the session has sound; `setAudioBus(nil)` at the end.
///
/// **Threads.** These are called on a thread that belongs to this device, one after the other; they may take their
/// time. What captures and plays runs on threads of the device's own (no work for Swift's concurrency pool).
/// Formats and delays are read on any thread and have to answer at once; formats stay what they are.
///
/// Its sound is sent as it is: echo cancellation and noise suppression are for the built-in microphone. A device
/// belongs to one session at a time: while one has it others go without, with a warning; one that has been left is
/// waited for.
public protocol AudioDevice: AnyObject, Sendable {
  /// For people, in messages. By default the type's name.
  var name: String { get }

  /// - Parameter bus: what is captured goes there, what is played comes from there; nil: it is to be let go of.
  func setAudioBus(_ bus: AudioBus?)

  /// Whether it has a microphone; if not, publishers' `audioSource` is used.
  var captureIsAvailable: Bool { get }
  var captureFormat: AudioDeviceFormat { get }
  /// - Throws: silence is sent, and a warning says so.
  func startCapture() throws
  func stopCapture()
  /// From the microphone to `writeCaptureData`. By default nothing.
  var estimatedCaptureDelay: Duration { get }

  /// Whether it has a loudspeaker; if not, `audioSink` is used.
  var renderingIsAvailable: Bool { get }
  var renderFormat: AudioDeviceFormat { get }
  /// - Throws: nothing is heard, and a warning says so.
  func startRendering() throws
  func stopRendering()
  /// From `readRenderData` to the loudspeaker. By default nothing.
  var estimatedRenderDelay: Duration { get }
}

extension AudioDevice {
  public var name: String { "\(Self.self)" }
  public var captureFormat: AudioDeviceFormat { AudioDeviceFormat() }
  public var renderFormat: AudioDeviceFormat { AudioDeviceFormat(channels: 2) }
  public var estimatedCaptureDelay: Duration { .zero }
  public var estimatedRenderDelay: Duration { .zero }
}

import Base
import CALSA
import Codecs
import Glibc

/// One direction of a sound device, through ALSA: 16-bit samples, interleaved, in periods of 10 ms. Confined to
/// one thread at a time.
final class PCM {
  enum Direction: Sendable {
    case capture, playback

    var kind: DeviceKind { self == .capture ? .microphone : .loudspeaker }

    fileprivate var stream: snd_pcm_stream_t {
      self == .capture ? SND_PCM_STREAM_CAPTURE : SND_PCM_STREAM_PLAYBACK
    }
  }

  /// ALSA's name of it: `default`, `plughw:CARD=Device,DEV=0`.
  let name: String
  let direction: Direction
  private(set) var channels = 0
  /// Frames a second.
  private(set) var rate = 0
  private let handle: OpaquePointer
  /// In a row.
  private var failures = 0
  private static let attempts = 5

  /// Frames of a period.
  var period: Int { rate / 100 }

  /// Opens and configures it; sound does not flow yet.
  init(name: String, _ direction: Direction) throws(SourceError) {
    otchat_alsa_be_quiet()
    self.name = name
    self.direction = direction
    var opened: OpaquePointer?
    // Without this flag, opening waits until whoever has the device gives it back.
    let status = snd_pcm_open(&opened, name, direction.stream, SND_PCM_NONBLOCK)
    guard status == 0, let opened else { throw Self.error(status, name, direction) }
    handle = opened
    // A class's deinit runs from here on, also when its init throws.
    let configured = configure()
    guard configured >= 0 else { throw Self.error(configured, name, direction) }
  }

  deinit { snd_pcm_close(handle) }

  /// Negative: ALSA's error.
  private func configure() -> Int32 {
    var parameters: OpaquePointer?
    guard snd_pcm_hw_params_malloc(&parameters) == 0, let parameters else { return -ENOMEM }
    defer { snd_pcm_hw_params_free(parameters) }
    var status = snd_pcm_hw_params_any(handle, parameters)
    guard status >= 0 else { return status }
    // What the device cannot, swresample does better than ALSA's plug-in.
    snd_pcm_hw_params_set_rate_resample(handle, parameters, 0)
    status = snd_pcm_hw_params_set_access(handle, parameters, SND_PCM_ACCESS_RW_INTERLEAVED)
    guard status >= 0 else { return status }
    status = snd_pcm_hw_params_set_format(handle, parameters, SND_PCM_FORMAT_S16_LE)
    guard status >= 0 else { return status }
    var channelCount: UInt32 = direction == .capture ? 1 : 2
    status = snd_pcm_hw_params_set_channels_near(handle, parameters, &channelCount)
    guard status >= 0 else { return status }
    var frequency = UInt32(AudioFormat.sampleRate)
    status = snd_pcm_hw_params_set_rate_near(handle, parameters, &frequency, nil)
    guard status >= 0 else { return status }
    guard (1...8).contains(channelCount), (8_000...192_000).contains(frequency) else { return -EINVAL }
    (channels, rate) = (Int(channelCount), Int(frequency))
    var frames = snd_pcm_uframes_t(period)
    snd_pcm_hw_params_set_period_size_near(handle, parameters, &frames, nil)
    // Heard late by less than 40 ms; recorded sound costs no delay while it is taken in time.
    frames = snd_pcm_uframes_t(direction == .playback ? 4 * period : 20 * period)
    snd_pcm_hw_params_set_buffer_size_near(handle, parameters, &frames)
    status = snd_pcm_hw_params(handle, parameters)
    guard status >= 0 else { return status }
    return snd_pcm_nonblock(handle, 0)
  }

  enum Outcome {
    case moved(Int)
    /// The device had too little, or nowhere to put more; it goes on.
    case xrun
    case failed(SourceError)
  }

  /// Waits for sound. - Parameter samples: room for whole frames.
  func read(into samples: UnsafeMutableBufferPointer<Int16>) -> Outcome {
    outcome(snd_pcm_readi(handle, samples.baseAddress, snd_pcm_uframes_t(samples.count / channels)))
  }

  /// Waits for room.
  func write(_ samples: UnsafeBufferPointer<Int16>) -> Outcome {
    outcome(snd_pcm_writei(handle, samples.baseAddress, snd_pcm_uframes_t(samples.count / channels)))
  }

  private func outcome(_ count: snd_pcm_sframes_t) -> Outcome {
    guard count < 0 else {
      failures = 0
      return .moved(count)
    }
    let error = Int32(clamping: count)
    if error == -EAGAIN {
      snd_pcm_wait(handle, 100)
      return .moved(0)
    }
    // An xrun, a suspended machine, a signal: over with `recover`.
    if snd_pcm_recover(handle, error, 1) >= 0 { return .xrun }
    // Some drivers have to be stopped before they can begin anew.
    failures += 1
    if error != -ENODEV, failures <= Self.attempts {
      snd_pcm_drop(handle)
      if snd_pcm_prepare(handle) >= 0 { return .xrun }
    }
    return .failed(Self.error(error, name, direction))
  }

  /// Frames between the application and the loudspeaker, or the microphone and the application.
  var delay: Int {
    var frames: snd_pcm_sframes_t = 0
    return snd_pcm_delay(handle, &frames) == 0 ? max(0, frames) : 0
  }

  private static func error(_ status: Int32, _ name: String, _ direction: Direction) -> SourceError {
    switch -status {
    // The last is a sound server that does not answer.
    case ENOENT, ENODEV, ENXIO, EINVAL, ECONNREFUSED: .noDevice(direction.kind, name: name, choices: [])
    case EBUSY, EAGAIN: .deviceBusy(direction.kind, name: name)
    case EACCES, EPERM: .deviceForbidden(direction.kind, name: name)
    default: .deviceFailed(direction.kind, name: name, reason: String(cString: snd_strerror(status)))
    }
  }
}

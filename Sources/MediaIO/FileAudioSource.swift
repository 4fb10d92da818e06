import Base
import CAV
import Codecs
import Glibc

/// `file:PATH`: the sound of a file at 48 kHz, again and again or once.
final class FileAudioSource: AudioSource {
  let name: String
  private let file: MediaFile
  private let once: Bool
  private let timeline: MediaTimeline
  private var resampler: OpaquePointer?
  private var channels = 0

  /// When the present round through the file began.
  private var origin: Instant?
  /// Samples a channel that this round has given out.
  private var position: Int64 = 0
  private var hasEnded = false
  /// Resampled, interleaved; those before `taken` are given out.
  private var samples: [Int16] = []
  private var taken = 0

  /// Off by more than this (a pause, a stall), the sound jumps to where the picture is; in samples.
  private static let tolerance: Int64 = 2_400

  init(path: String, once: Bool, timeline: MediaTimeline) throws(SourceError) {
    file = try MediaFile(path: path, .audio)
    name = path.split(separator: "/").last.map(String.init) ?? path
    self.once = once
    self.timeline = timeline
  }

  deinit { swr_free(&resampler) }

  func start(at now: Instant) { origin = origin ?? timeline.start(at: now) }

  func stop() {}

  func read(into output: UnsafeMutableBufferPointer<Int16>, channels: Int, at time: Instant) -> Bool {
    self.channels = channels
    output.update(repeating: 0)
    guard !hasEnded, let origin else { return !hasEnded }
    let due = (time - origin).nanoseconds * 48 / 1_000_000
    // Before the beginning: the engine captures the 10 ms that end at its tick.
    if due < -Int64(AudioFormat.samplesPerChunk) { return true }
    if due - position > Self.tolerance { skip(Int(min(due - position, 48_000 * 10))) }
    var filled = 0
    while filled < output.count {
      let count = min(samples.count - taken, output.count - filled)
      if count > 0 {
        samples.withUnsafeBufferPointer { source in
          for index in 0..<count { output[filled + index] = source[taken + index] }
        }
        taken += count
        filled += count
        position += Int64(count / channels)
      } else if !decodeMore() {
        guard startNextRound() else {
          hasEnded = true
          return filled > 0
        }
      }
    }
    return true
  }

  private func skip(_ count: Int) {
    var left = count
    while left > 0 {
      let available = min((samples.count - taken) / channels, left)
      taken += available * channels
      position += Int64(available)
      left -= available
      if left > 0 && !decodeMore() && !startNextRound() { return }
    }
  }

  /// False at the end of the file.
  private func decodeMore() -> Bool {
    samples.removeAll(keepingCapacity: true)
    taken = 0
    while samples.isEmpty {
      guard let frame = file.next() else { return false }
      if position == 0, let time = file.time(of: frame), time > .milliseconds(20) {
        // The sound begins later than the picture.
        let lead = min(time.nanoseconds * 48 / 1_000_000, 48_000 * 60)
        samples.append(contentsOf: repeatElement(0, count: Int(lead) * channels))
      }
      append(frame)
    }
    return true
  }

  /// The rest of the round is silence, if the picture is longer.
  private func startNextRound() -> Bool {
    guard !once, position > 0, let origin else { return false }
    if let duration = file.duration {
      let missing = duration.nanoseconds * 48 / 1_000_000 - position
      if missing > 0 {
        samples.append(contentsOf: repeatElement(0, count: Int(min(missing, 48_000 * 60)) * channels))
        return true
      }
    }
    self.origin = origin + .nanoseconds(position * 1_000_000 / 48)
    position = 0
    return file.rewind()
  }

  private func append(_ frame: UnsafeMutablePointer<AVFrame>) {
    if resampler == nil { makeResampler(frame) }
    guard let resampler else { return }
    let capacity = Int(swr_get_out_samples(resampler, frame.pointee.nb_samples))
    guard capacity > 0, capacity < 48_000 * 60 else { return }
    let start = samples.count
    samples.append(contentsOf: repeatElement(0, count: capacity * channels))
    let count = samples.withUnsafeMutableBytes { bytes -> Int32 in
      var target = bytes.baseAddress.map { ($0 + start * 2).assumingMemoryBound(to: UInt8.self) }
      return frame.pointee.extended_data.withMemoryRebound(to: UnsafePointer<UInt8>?.self, capacity: 1) {
        swr_convert(resampler, &target, Int32(capacity), $0, frame.pointee.nb_samples)
      }
    }
    samples.removeLast(max(0, capacity - Int(max(0, count))) * channels)
  }

  private func makeResampler(_ frame: UnsafeMutablePointer<AVFrame>) {
    var target = AVChannelLayout()
    av_channel_layout_default(&target, Int32(channels))
    var source = AVChannelLayout()
    if frame.pointee.ch_layout.order == AV_CHANNEL_ORDER_UNSPEC {
      av_channel_layout_default(&source, frame.pointee.ch_layout.nb_channels)
    } else {
      av_channel_layout_copy(&source, &frame.pointee.ch_layout)
    }
    let status = swr_alloc_set_opts2(
      &resampler, &target, AV_SAMPLE_FMT_S16, Int32(AudioFormat.sampleRate), &source,
      AVSampleFormat(frame.pointee.format), frame.pointee.sample_rate, 0, nil)
    if status < 0 || swr_init(resampler) < 0 { swr_free(&resampler) }
    av_channel_layout_uninit(&source)
    av_channel_layout_uninit(&target)
  }
}

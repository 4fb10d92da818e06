import CAV
import Codecs

/// Between a device's rate and channels and 48 kHz with ours, by libswresample; where they are the same, nothing.
final class SampleConverter {
  private var context: OpaquePointer?
  private let input: (rate: Int, channels: Int)
  private let output: (rate: Int, channels: Int)
  private var converted: [Int16] = []

  /// - Parameters:
  ///   - capture: from the device; otherwise to it.
  ///   - channels: at our end.
  init(capture: Bool, device: (rate: Int, channels: Int), channels: Int) throws(SourceError) {
    let own = (rate: AudioFormat.sampleRate, channels: channels)
    (input, output) = capture ? (device, own) : (own, device)
    guard input != output else { return }
    if let reason = MediaLibrary.fault { throw .libraryMissing(reason: reason) }
    var (source, target) = (AVChannelLayout(), AVChannelLayout())
    av_channel_layout_default(&source, Int32(input.channels))
    av_channel_layout_default(&target, Int32(output.channels))
    let status = swr_alloc_set_opts2(
      &context, &target, AV_SAMPLE_FMT_S16, Int32(output.rate), &source, AV_SAMPLE_FMT_S16,
      Int32(input.rate), 0, nil)
    av_channel_layout_uninit(&source)
    av_channel_layout_uninit(&target)
    guard status >= 0, swr_init(context) >= 0 else {
      throw .libraryMissing(reason: "libswresample cannot convert \(input) to \(output)")
    }
  }

  deinit { if context != nil { swr_free(&context) } }

  /// - Parameters:
  ///   - samples: interleaved, whole frames.
  ///   - body: gets what comes of them, which may be a little less or more.
  func convert(_ samples: UnsafeBufferPointer<Int16>, _ body: (UnsafeBufferPointer<Int16>) -> Void) {
    guard let context else { return body(samples) }
    let frames = Int32(clamping: samples.count / input.channels)
    let room = swr_get_out_samples(context, frames)
    guard room > 0, room < 1 << 20 else { return }
    let size = Int(room) * output.channels
    if converted.count < size { converted = [Int16](repeating: 0, count: size) }
    let count = samples.withMemoryRebound(to: UInt8.self) { bytes in
      converted.withUnsafeMutableBytes { target -> Int32 in
        var (from, to) = (bytes.baseAddress, target.baseAddress?.assumingMemoryBound(to: UInt8.self))
        return swr_convert(context, &to, room, &from, frames)
      }
    }
    guard count > 0 else { return }
    converted.withUnsafeBufferPointer {
      body(UnsafeBufferPointer(rebasing: $0[..<(Int(count) * output.channels)]))
    }
  }
}

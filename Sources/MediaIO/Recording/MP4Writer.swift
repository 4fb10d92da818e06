import Base
import CAV
import Codecs

/// H.264 and AAC in a fragmented MP4 file, which can be played up to the last `flush`, whatever happens to
/// the process. Confined to one thread.
final class MP4Writer {
  private let output: MediaOutput
  private let size: VideoSize
  private var video: Track?
  private var audio: Track?
  /// Stereo samples that do not fill an AAC frame yet.
  private var pending: [Int16] = []
  private var samplesWritten: Int64 = 0

  private final class Track {
    let encoder: Encoder
    var stream: Int32 = 0
    var frame: UnsafeMutablePointer<AVFrame>?

    init(_ encoder: Encoder) {
      self.encoder = encoder
      frame = av_frame_alloc()
    }

    deinit { av_frame_free(&frame) }
  }

  init(_ configuration: Composer.Configuration, frameRate: Int) throws(SourceError) {
    size = configuration.size
    output = try MediaOutput(path: configuration.path, format: "mp4")
    if configuration.hasVideo {
      video = try addTrack(try Self.videoEncoder(configuration, frameRate)) { frame, context in
        frame.pointee.format = context.pointee.pix_fmt.rawValue
        frame.pointee.width = context.pointee.width
        frame.pointee.height = context.pointee.height
      }
    }
    if configuration.hasAudio {
      audio = try addTrack(try Self.audioEncoder()) { frame, context in
        frame.pointee.format = context.pointee.sample_fmt.rawValue
        frame.pointee.nb_samples = context.pointee.frame_size
        frame.pointee.sample_rate = context.pointee.sample_rate
        av_channel_layout_copy(&frame.pointee.ch_layout, &context.pointee.ch_layout)
      }
    }
    try output.writeHeader(["movflags": "empty_moov+frag_custom+default_base_moof"])
  }

  private func addTrack(
    _ encoder: Encoder,
    _ describe: (UnsafeMutablePointer<AVFrame>, UnsafeMutablePointer<AVCodecContext>) -> Void
  ) throws(SourceError) -> Track {
    let track = Track(encoder)
    let stream = output.addStream { stream in
      stream.pointee.time_base = encoder.context.pointee.time_base
      avcodec_parameters_from_context(stream.pointee.codecpar, encoder.context)
    }
    guard let frame = track.frame, let stream else { throw .libraryMissing(reason: "out of memory") }
    track.stream = stream
    describe(frame, encoder.context)
    guard av_frame_get_buffer(frame, 0) == 0 else { throw .libraryMissing(reason: "out of memory") }
    return track
  }

  /// No B-frames and no look-ahead: what is encoded is in the file at once. A key frame begins each fragment.
  private static func videoEncoder(_ configuration: Composer.Configuration, _ frameRate: Int)
    throws(SourceError) -> Encoder
  {
    try Encoder(
      "libx264",
      options: [
        "preset": "veryfast", "tune": "zerolatency", "crf": "23",
        "x264-params": "keyint=\(frameRate):min-keyint=\(frameRate):scenecut=0",
      ]
    ) { context in
      context.pointee.width = Int32(configuration.size.width)
      context.pointee.height = Int32(configuration.size.height)
      context.pointee.time_base = AVRational(num: 1, den: Int32(frameRate))
      context.pointee.framerate = AVRational(num: Int32(frameRate), den: 1)
      context.pointee.pix_fmt = AV_PIX_FMT_YUV420P
      context.pointee.color_range = AVCOL_RANGE_MPEG
      context.pointee.colorspace = AVCOL_SPC_SMPTE170M
      context.pointee.max_b_frames = 0
      context.pointee.thread_count = 2
      if let bitrate = configuration.maximumBitrate {
        context.pointee.rc_max_rate = Int64(min(max(bitrate, 50_000), 50_000_000))
        context.pointee.rc_buffer_size = Int32(context.pointee.rc_max_rate)
      }
    }
  }

  private static func audioEncoder() throws(SourceError) -> Encoder {
    try Encoder("aac", options: [:]) { context in
      context.pointee.sample_rate = Int32(AudioFormat.sampleRate)
      context.pointee.sample_fmt = AV_SAMPLE_FMT_FLTP
      av_channel_layout_default(&context.pointee.ch_layout, 2)
      context.pointee.bit_rate = 128_000
      context.pointee.time_base = AVRational(num: 1, den: Int32(AudioFormat.sampleRate))
    }
  }

  /// - Parameters:
  ///   - number: when, in frames since the beginning; pictures may be left out.
  ///   - draw: all of it.
  func writePicture(at number: Int64, _ draw: (Canvas) -> Void) throws(SourceError) {
    guard let video, let frame = video.frame, av_frame_make_writable(frame) >= 0,
      let y = frame.pointee.data.0, let u = frame.pointee.data.1, let v = frame.pointee.data.2
    else { return }
    draw(
      Canvas(
        y: y, u: u, v: v, strideY: Int(frame.pointee.linesize.0), strideUV: Int(frame.pointee.linesize.1),
        size: size))
    frame.pointee.pts = number
    try encode(frame, video)
  }

  /// - Parameter samples: interleaved stereo, right behind what was written before.
  func writeSound(_ samples: [Int16]) throws(SourceError) {
    guard let audio, let frame = audio.frame else { return }
    pending += samples
    let count = Int(frame.pointee.nb_samples)
    var taken = 0
    while pending.count - taken >= 2 * count {
      guard av_frame_make_writable(frame) >= 0, let left = frame.pointee.data.0,
        let right = frame.pointee.data.1
      else { return }
      left.withMemoryRebound(to: Float.self, capacity: count) { left in
        right.withMemoryRebound(to: Float.self, capacity: count) { right in
          for index in 0..<count {
            left[index] = Float(pending[taken + 2 * index]) / 32_768
            right[index] = Float(pending[taken + 2 * index + 1]) / 32_768
          }
        }
      }
      taken += 2 * count
      frame.pointee.pts = samplesWritten
      samplesWritten += Int64(count)
      try encode(frame, audio)
    }
    pending.removeFirst(taken)
  }

  private func encode(_ frame: UnsafeMutablePointer<AVFrame>?, _ track: Track) throws(SourceError) {
    let timeBase = track.encoder.context.pointee.time_base
    let isVideo = track === video
    try track.encoder.encode(frame) { packet throws(SourceError) in
      if isVideo, packet.pointee.duration == 0 { packet.pointee.duration = 1 }
      // AAC begins with a packet that belongs before the first sample. A fragmented file cannot say so, and
      // all that follows would be late by its length.
      guard packet.pointee.pts >= 0 else {
        av_packet_unref(packet)
        return
      }
      try output.write(packet, stream: track.stream, timeBase: timeBase)
    }
  }

  func flush() throws(SourceError) { try output.flush() }

  func finish() throws(SourceError) {
    if let frame = audio?.frame, !pending.isEmpty {
      // The last samples, with silence behind them.
      let missing = 2 * Int(frame.pointee.nb_samples) - pending.count
      try writeSound([Int16](repeating: 0, count: max(0, missing)))
    }
    for track in [video, audio].compactMap({ $0 }) { try encode(nil, track) }
    try output.finish()
  }
}

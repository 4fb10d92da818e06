import Base
import CAV
import Codecs
import RTP

/// One stream's Opus and VP8 in a WebM file, as they were encoded. Confined to one thread.
///
/// The file can be played up to the last `flush`, whatever happens to the process.
final class WebMWriter {
  private let output: MediaOutput
  private var audioStream: Int32?
  private var videoStream: Int32?
  private var lastAudio: Int64 = -1
  private var lastVideo: Int64 = -1
  /// Milliseconds: where the last packet ends.
  private(set) var end: Int64 = 0

  /// - Parameter videoSize: of the first picture; nil if there never is one.
  init(path: String, hasAudio: Bool, videoSize: VideoSize?) throws(SourceError) {
    output = try MediaOutput(path: path, format: "webm")
    if let videoSize {
      videoStream = output.addStream { stream in
        stream.pointee.time_base = AVRational(num: 1, den: 1000)
        guard let parameters = stream.pointee.codecpar else { return }
        parameters.pointee.codec_type = AVMEDIA_TYPE_VIDEO
        parameters.pointee.codec_id = AV_CODEC_ID_VP8
        parameters.pointee.width = Int32(videoSize.width)
        parameters.pointee.height = Int32(videoSize.height)
      }
    }
    if hasAudio {
      audioStream = output.addStream { stream in
        stream.pointee.time_base = AVRational(num: 1, den: 1000)
        guard let parameters = stream.pointee.codecpar else { return }
        parameters.pointee.codec_type = AVMEDIA_TYPE_AUDIO
        parameters.pointee.codec_id = AV_CODEC_ID_OPUS
        parameters.pointee.sample_rate = Int32(AudioFormat.sampleRate)
        av_channel_layout_default(&parameters.pointee.ch_layout, 2)
        Self.setOpusHead(parameters)
      }
    }
    try output.writeHeader()
  }

  /// RFC 7845, 5.1. RTP's Opus is always announced as stereo (RFC 7587, 7), and nothing is to be left out at
  /// its beginning, which was in the middle of a call.
  private static func setOpusHead(_ parameters: UnsafeMutablePointer<AVCodecParameters>) {
    let head: [UInt8] = Array("OpusHead".utf8) + [1, 2, 0, 0, 0x80, 0xBB, 0, 0, 0, 0, 0]
    // With zeros behind it, as libavcodec's readers want it.
    guard let memory = av_mallocz(head.count + Int(AV_INPUT_BUFFER_PADDING_SIZE)) else { return }
    memory.copyMemory(from: head, byteCount: head.count)
    parameters.pointee.extradata = memory.assumingMemoryBound(to: UInt8.self)
    parameters.pointee.extradata_size = Int32(head.count)
  }

  /// - Parameter time: in milliseconds since the file's beginning.
  func write(_ packet: ReceivedAudioPacket, at time: Int64) throws(SourceError) {
    guard let audioStream else { return }
    let duration = Int64(OpusPacket.samples(packet.bytes) ?? 960) / 48
    lastAudio = max(time, lastAudio + 1)
    end = max(end, lastAudio + duration)
    try output.write(packet.bytes, stream: audioStream, time: lastAudio, duration: duration, isKeyFrame: true)
  }

  func write(_ frame: ReceivedVideoFrame, at time: Int64) throws(SourceError) {
    guard let videoStream else { return }
    lastVideo = max(time, lastVideo + 1)
    end = max(end, lastVideo)
    try output.write(
      frame.bytes, stream: videoStream, time: lastVideo, duration: 0, isKeyFrame: frame.isKeyFrame)
  }

  func flush() throws(SourceError) { try output.flush() }

  /// - Returns: the file's size in bytes.
  @discardableResult
  func finish() throws(SourceError) -> Int64 { try output.finish() }
}

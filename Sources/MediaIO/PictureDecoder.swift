import Base
import CAV
import Codecs

/// Turns what a camera hands out into pictures of one size in I420. Confined to one thread at a time.
final class PictureDecoder {
  private let mode: CameraMode
  private let bytesPerLine: Int
  private let scaler: VideoScaler
  private var frame: UnsafeMutablePointer<AVFrame>?
  private var packet: UnsafeMutablePointer<AVPacket>?
  /// Nil for what is not compressed.
  private var decoder: UnsafeMutablePointer<AVCodecContext>?
  /// A compressed picture, with the zeros behind it that libavcodec wants.
  private var compressed: [UInt8] = []

  private static let padding = 64

  /// - Parameters:
  ///   - bytesPerLine: from row to row; 0: as short as can be.
  ///   - size: of what comes out.
  init(_ mode: CameraMode, bytesPerLine: Int, size: VideoSize) throws(SourceError) {
    self.mode = mode
    self.bytesPerLine = bytesPerLine
    scaler = VideoScaler(size: size)
    if let reason = MediaLibrary.fault { throw .libraryMissing(reason: reason) }
    frame = av_frame_alloc()
    packet = av_packet_alloc()
    let identifier: AVCodecID
    switch mode.format {
    case .mjpeg: identifier = AV_CODEC_ID_MJPEG
    case .h264: identifier = AV_CODEC_ID_H264
    default: return
    }
    guard let codec = avcodec_find_decoder(identifier), let context = avcodec_alloc_context3(codec) else {
      throw .libraryMissing(reason: "no decoder for \(mode.format.rawValue)")
    }
    decoder = context
    // Pictures as they come: threads and reordering would hold some back.
    context.pointee.thread_count = 1
    context.pointee.flags |= AV_CODEC_FLAG_LOW_DELAY
    guard avcodec_open2(context, codec, nil) == 0 else {
      throw .libraryMissing(reason: "no decoder for \(mode.format.rawValue)")
    }
  }

  deinit {
    guard MediaLibrary.fault == nil else { return }
    avcodec_free_context(&decoder)
    av_packet_free(&packet)
    av_frame_free(&frame)
  }

  /// Whether each picture can be read without those before it.
  var isIndependent: Bool { mode.format != .h264 }

  /// Nil for what cannot be read (cut short, damaged).
  func picture(_ bytes: UnsafeRawBufferPointer, time: Instant) -> VideoFrame? {
    guard let frame else { return nil }
    if decoder != nil { return decode(bytes) ? scaler.scale(frame, time: time) : nil }
    guard describe(bytes, in: frame) else { return nil }
    defer { frame.pointee.data = (nil, nil, nil, nil, nil, nil, nil, nil) }
    return scaler.scale(frame, time: time)
  }

  /// For a picture that is not shown but that later ones refer to.
  func skip(_ bytes: UnsafeRawBufferPointer) { if !isIndependent { _ = decode(bytes) } }

  private func decode(_ bytes: UnsafeRawBufferPointer) -> Bool {
    guard let decoder, let packet, let frame, !bytes.isEmpty, bytes.count < 1 << 26 else { return false }
    compressed.removeAll(keepingCapacity: true)
    compressed.append(contentsOf: bytes)
    compressed.append(contentsOf: repeatElement(0, count: Self.padding))
    let count = Int32(bytes.count)
    compressed.withUnsafeMutableBufferPointer { buffer in
      packet.pointee.data = buffer.baseAddress
      packet.pointee.size = count
      avcodec_send_packet(decoder, packet)
      packet.pointee.data = nil
      packet.pointee.size = 0
    }
    return avcodec_receive_frame(decoder, frame) == 0
  }

  /// Lets the frame point at uncompressed bytes; false if there are too few.
  private func describe(_ bytes: UnsafeRawBufferPointer, in frame: UnsafeMutablePointer<AVFrame>) -> Bool {
    let (width, height) = (mode.size.width, mode.size.height)
    let (format, least): (AVPixelFormat, Int) =
      switch mode.format {
      case .yuyv: (AV_PIX_FMT_YUYV422, 2 * width)
      case .uyvy: (AV_PIX_FMT_UYVY422, 2 * width)
      case .nv12: (AV_PIX_FMT_NV12, width)
      default: (AV_PIX_FMT_YUV420P, width)
      }
    let stride = max(bytesPerLine, least)
    let luma = stride * height
    let chromaHeight = (height + 1) / 2
    let needed =
      switch mode.format {
      case .nv12: luma + stride * chromaHeight
      case .i420: luma + 2 * (stride / 2) * chromaHeight
      default: luma
      }
    guard bytes.count >= needed, let base = bytes.baseAddress else { return false }
    let start = UnsafeMutableRawPointer(mutating: base).assumingMemoryBound(to: UInt8.self)
    frame.pointee.format = format.rawValue
    frame.pointee.width = Int32(width)
    frame.pointee.height = Int32(height)
    frame.pointee.data.0 = start
    frame.pointee.linesize.0 = Int32(stride)
    switch mode.format {
    case .nv12:
      frame.pointee.data.1 = start + luma
      frame.pointee.linesize.1 = Int32(stride)
    case .i420:
      frame.pointee.data.1 = start + luma
      frame.pointee.data.2 = start + luma + stride / 2 * chromaHeight
      frame.pointee.linesize.1 = Int32(stride / 2)
      frame.pointee.linesize.2 = Int32(stride / 2)
    default: break
    }
    return true
  }
}

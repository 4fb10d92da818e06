import Base
import Codecs
import Glibc

/// `file:PATH.wav`: 48 kHz stereo, 16 bits. The header is right every 200 ms, also if the process is
/// killed.
final class WAVFileSink: AudioSink {
  let name: String
  private let path: String
  private var descriptor: Int32 = -1
  private var pending: [UInt8] = []
  private var dataSize = 0

  private static let headerSize = 44
  /// 200 ms.
  private static let flushSize = 38_400
  /// Sizes in a WAV file have 32 bits; sound beyond 6 hours is thrown away.
  private static let largest = 0xFFFF_FFFF - 44

  init(path: String) {
    self.path = path
    name = path.split(separator: "/").last.map(String.init) ?? path
  }

  deinit { stop() }

  func start(at now: Instant) throws(SourceError) {
    descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o644)
    guard descriptor >= 0 else {
      throw .cannotWrite(path: path, reason: String(cString: strerror(errno)))
    }
    pending.reserveCapacity(2 * Self.flushSize)
    writeHeader()
  }

  func write(_ samples: UnsafeBufferPointer<Int16>) {
    guard descriptor >= 0, dataSize + pending.count + samples.count * 2 <= Self.largest else { return }
    pending.append(contentsOf: UnsafeRawBufferPointer(samples))
    if pending.count >= Self.flushSize { flush() }
  }

  func stop() {
    guard descriptor >= 0 else { return }
    flush()
    close(descriptor)
    descriptor = -1
  }

  private func flush() {
    let count = pending.withUnsafeBytes {
      pwrite(descriptor, $0.baseAddress, $0.count, off_t(Self.headerSize + dataSize))
    }
    if count < pending.count {
      Log.error("MediaIO", "\(path): \(count < 0 ? String(cString: strerror(errno)) : "disk full")")
    }
    dataSize += max(0, count)
    pending.removeAll(keepingCapacity: true)
    writeHeader()
  }

  /// RIFF header with one `fmt ` and one `data` chunk; all values little-endian.
  private func writeHeader() {
    var header: [UInt8] = []
    func add(_ text: StaticString) { header.append(contentsOf: text.description.utf8) }
    func add16(_ value: Int) {
      withUnsafeBytes(of: UInt16(value).littleEndian) { header.append(contentsOf: $0) }
    }
    func add32(_ value: Int) {
      withUnsafeBytes(of: UInt32(value).littleEndian) { header.append(contentsOf: $0) }
    }
    add("RIFF")
    add32(Self.headerSize - 8 + dataSize)
    add("WAVEfmt ")
    add32(16)
    add16(1)  // PCM
    add16(2)
    add32(AudioFormat.sampleRate)
    add32(AudioFormat.sampleRate * 4)
    add16(4)
    add16(16)
    add("data")
    add32(dataSize)
    header.withUnsafeBytes { _ = pwrite(descriptor, $0.baseAddress, $0.count, 0) }
  }
}

import Base
import Glibc
import Testing

@testable import MediaIO

/// What a WAV file's header says, against the file.
struct WAVFile {
  let bytes: [UInt8]

  init(_ path: String) throws {
    let descriptor = open(path, O_RDONLY)
    try #require(descriptor >= 0)
    defer { close(descriptor) }
    var bytes = [UInt8](repeating: 0, count: Int(lseek(descriptor, 0, SEEK_END)))
    let count = pread(descriptor, &bytes, bytes.count, 0)
    try #require(count == bytes.count && count >= 44)
    self.bytes = bytes
  }

  func value(at offset: Int, _ count: Int) -> Int {
    (0..<count).reduce(0) { $0 | Int(bytes[offset + $1]) << (8 * $1) }
  }

  func text(at offset: Int) -> String { String(decoding: bytes[offset..<offset + 4], as: UTF8.self) }

  /// Samples a channel by the header.
  var samples: Int { value(at: 40, 4) / 4 }

  var sizesAreRight: Bool { value(at: 4, 4) == bytes.count - 8 && value(at: 40, 4) == bytes.count - 44 }
}

@Suite struct WAVFileTests {
  @Test func headerIsRightWhileItIsWritten() throws {
    let path = "/tmp/otchat-wav-\(getpid()).wav"
    defer { unlink(path) }
    let sink = WAVFileSink(path: path)
    try sink.start(at: .zero)
    #expect(try WAVFile(path).sizesAreRight)
    let chunk = (0..<960).map { Int16($0) }
    for _ in 0..<55 { chunk.withUnsafeBufferPointer { sink.write($0) } }
    // Not stopped: as after a kill. What is there is whole, and not more than 200 ms are missing.
    let killed = try WAVFile(path)
    #expect(killed.sizesAreRight)
    #expect(killed.samples >= 35 * 480)
    sink.stop()
    let file = try WAVFile(path)
    #expect(file.sizesAreRight)
    #expect(file.samples == 55 * 480)
    #expect(file.text(at: 0) == "RIFF" && file.text(at: 8) == "WAVE" && file.text(at: 36) == "data")
    #expect([20, 22, 32, 34].map { file.value(at: $0, 2) } == [1, 2, 4, 16])
    #expect([24, 28].map { file.value(at: $0, 4) } == [48_000, 192_000])
    #expect(file.value(at: 44 + 2 * 959, 2) == 959)
  }

  @Test func whereNothingCanBeWrittenIsAnError() {
    let sink = WAVFileSink(path: "/nowhere/a.wav")
    #expect(throws: SourceError.cannotWrite(path: "/nowhere/a.wav", reason: "No such file or directory")) {
      try sink.start(at: .zero)
    }
  }
}

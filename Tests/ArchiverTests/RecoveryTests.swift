import Base
import Codecs
import Foundation
import MediaIO
import OpenTokProtocol
import RTP
import SessionServer
import TestSupport
import Testing

@testable import Archiver

/// What a server leaves that dies in the middle.
@Suite final class RecoveryTests {
  private let directory: String

  init() throws {
    directory = NSTemporaryDirectory() + "otchat-recovery-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
  }

  deinit { try? FileManager.default.removeItem(atPath: directory) }

  private func request(_ mode: ArchiveRequest.OutputMode) -> ArchiveRequest {
    ArchiveRequest(archiveID: "a1", sessionID: "1_x", outputMode: mode, directory: directory)
  }

  private func sound(_ sink: any EncodedMediaSink, seconds: Int) throws {
    var encoder = try OpusEncoder()
    let samples = [Int16](repeating: 500, count: 960)
    let start = MonotonicClock.now() - .seconds(60)
    sink.mediaBegan {}
    for number in 0..<seconds * 50 {
      let bytes = try samples.withUnsafeBufferPointer { try encoder.encode($0) }
      sink.receive(
        ReceivedAudioPacket(
          bytes: bytes, sequenceNumber: Int64(number), timestamp: Int64(number) * 960,
          arrival: start + .milliseconds(20 * number)))
    }
  }

  @Test func aZIPIsMadeOfTheFilesThatAreThere() async throws {
    let path = directory + "/s1.webm"
    let recorder = try StreamRecorder(.init(path: path, hasAudio: true, hasVideo: false)) { _ in }
    try sound(recorder, seconds: 3)
    let copy = directory + "/copy"
    // Before it ends, as it is when the process dies.
    try await eventually("the file is written") {
      unlink(copy)
      return (try? FileManager.default.copyItem(atPath: path, toPath: copy)) != nil
        && (try? MediaRemuxer.remux(copy, to: copy + ".2", .webm)).map { $0.seconds > 2.5 } ?? false
    }
    recorder.mediaEnded()
    try await eventually("the file is complete") { ((try? MediaRemuxer.length(path)) ?? .zero) > .zero }
    unlink(path)
    rename(copy, path)
    let manifest = ArchiveManifest(
      createdAt: 1_796_050_000_000, id: "a1", name: "n", partnerID: "100", sessionID: "1_x",
      files: [
        .init(
          connectionData: "d", filename: "s1.webm", startTimeOffset: 400, stopTimeOffset: 400, streamID: "s1",
          videoType: nil),
        .init(
          connectionData: "", filename: "s2.webm", startTimeOffset: 0, stopTimeOffset: 0, streamID: "s2",
          videoType: "camera"),
      ])
    try Data(manifest.json.text.utf8).write(to: URL(filePath: directory + "/streams.json"))
    let file = try await ArchiveRecorderFactory.standard.recover(request(.individual))
    #expect(file.path == directory + "/archive.zip" && file.sizeBytes == fileSize(file.path))
    #expect(abs(file.durationSeconds - 3.4) < 0.1)
    let zip = [UInt8](try Data(contentsOf: URL(filePath: file.path)))
    let text = String(decoding: zip.suffix(900), as: UTF8.self)
    #expect(text.contains("\"startTimeOffset\":400") && text.contains("\"partnerId\":100"))
    #expect(!text.contains("s2"))
    #expect(access(directory + "/s1.webm", F_OK) != 0 && access(directory + "/streams.json", F_OK) != 0)
  }

  @Test func anMP4IsMadeOfItsFragments() async throws {
    let isOver = Lock(false)
    let composer = try Composer(
      .init(path: directory + "/recording.mp4", size: VideoSize(width: 320, height: 240))
    ) {
      Issue.record("\($0)")
    } ended: { _ in
      isOver.withLock { $0 = true }
    }
    try await eventually("it has begun") { fileSize(directory + "/recording.mp4") > 3_000 }
    composer.stop()
    try await eventually("it has ended") { isOver.withLock { $0 } }
    truncate(directory + "/recording.mp4", off_t(fileSize(directory + "/recording.mp4") - 100))
    let file = try await ArchiveRecorderFactory.standard.recover(request(.composed))
    #expect(file.path == directory + "/archive.mp4" && file.durationSeconds > 0.9)
    #expect(access(directory + "/recording.mp4", F_OK) != 0)
    // Once more, as after a crash behind it.
    let again = try await ArchiveRecorderFactory.standard.recover(request(.composed))
    #expect(again.sizeBytes == file.sizeBytes && abs(again.durationSeconds - file.durationSeconds) < 0.1)
  }

  @Test func nothingIsNotAnArchive() async {
    for mode in [ArchiveRequest.OutputMode.composed, .individual] {
      await #expect(throws: ArchiveError.empty) {
        try await ArchiveRecorderFactory.standard.recover(request(mode))
      }
    }
  }

  @Test func manifestsComeBackAsTheyWere() throws {
    let manifest = ArchiveManifest(
      createdAt: 5, id: "i", name: "ä\"", partnerID: "k-1", sessionID: "s",
      files: [
        .init(
          connectionData: "{}", filename: "f.webm", size: 7, startTimeOffset: 1, stopTimeOffset: 2,
          streamID: "x", videoType: "screen")
      ])
    #expect(ArchiveManifest(try JSON(parsing: manifest.json.text)) == manifest)
    let evil = manifest.json.text.replacing("f.webm", with: "../f.webm")
    #expect(ArchiveManifest(try JSON(parsing: evil))?.files == [])
  }
}

import Base
import Glibc
import RTP
import TestSupport
import Testing

@testable import Peer

/// A pcapng file read again, by its specification and not by what writes it.
private struct CaptureFile {
  struct Packet: Equatable {
    var kind: String
    var source: [UInt8], destination: [UInt8]
    var sourcePort: Int, destinationPort: Int
    var time: Int64
    var flags: Int
    var bytes: [UInt8]
  }

  var linkType = 0
  var packets: [Packet] = []
  /// Received and dropped, by the statistics at the end.
  var counted: (received: Int, dropped: Int)?

  init(_ bytes: [UInt8]) throws {
    var at = 0
    func little(_ offset: Int, _ count: Int) throws -> Int {
      try #require(offset + count <= bytes.count)
      return (0..<count).reversed().reduce(0) { $0 << 8 | Int(bytes[offset + $1]) }
    }
    func big(_ offset: Int, _ count: Int) throws -> Int {
      try #require(offset + count <= bytes.count)
      return (0..<count).reduce(0) { $0 << 8 | Int(bytes[offset + $1]) }
    }
    while at < bytes.count {
      let (type, length) = (try little(at, 4), try little(at + 4, 4))
      try #require(length >= 12 && length % 4 == 0 && at + length <= bytes.count)
      try #require(try little(at + length - 4, 4) == length)
      if at == 0 {
        try #require(type == 0x0A0D_0D0A && (try little(8, 4)) == 0x1A2B_3C4D)
      }
      func options(from start: Int) throws -> [Int: Int] {
        var found: [Int: Int] = [:]
        var option = start
        while try little(option, 2) != 0 {
          found[try little(option, 2)] = try little(option + 4, try little(option + 2, 2))
          option += 4 + (try little(option + 2, 2) + 3) / 4 * 4
        }
        return found
      }
      switch type {
      case 1: linkType = try little(at + 8, 2)
      case 5:
        let found = try options(from: at + 20)
        counted = (try #require(found[4]), try #require(found[5]))
      case 6:
        let size = try little(at + 20, 4)
        try #require(try little(at + 24, 4) == size)
        var tags: [Int: [UInt8]] = [:]
        var tag = at + 28
        while try big(tag, 2) != 0 {
          let end = tag + 4 + (try big(tag + 2, 2))
          try #require(end <= bytes.count)
          tags[try big(tag, 2)] = Array(bytes[tag + 4..<end])
          tag = end
        }
        func port(_ tag: Int) throws -> Int { try #require(tags[tag]).reduce(0) { $0 << 8 | Int($1) } }
        try #require(try port(24) == 3)
        packets.append(
          Packet(
            kind: String(decoding: try #require(tags[12]).prefix { $0 != 0 }, as: UTF8.self),
            source: try #require(tags[20] ?? tags[22]), destination: try #require(tags[21] ?? tags[23]),
            sourcePort: try port(25), destinationPort: try port(26),
            time: Int64(try little(at + 12, 4) << 32 | (try little(at + 16, 4))),
            flags: try options(from: at + 28 + (size + 3) / 4 * 4)[2] ?? 0,
            bytes: Array(bytes[tag + 4..<at + 28 + size])))
      default: break
      }
      at += length
    }
  }
}

/// A file without a name.
private func temporary() throws -> Int32 {
  var path = Array("/tmp/otchat-capture.XXXXXX".utf8CString)
  let descriptor = mkstemp(&path)
  try #require(descriptor >= 0)
  unlink(path)
  return descriptor
}

private func contents(_ descriptor: Int32) throws -> [UInt8] {
  var bytes = [UInt8](repeating: 0, count: Int(lseek(descriptor, 0, SEEK_END)))
  let count = pread(descriptor, &bytes, bytes.count, 0)
  try #require(count == bytes.count)
  return bytes
}

private func packet(_ number: Int, size: Int = 41) -> CapturedPacket {
  CapturedPacket(
    .rtp, (0..<size).map { UInt8(truncatingIfNeeded: $0 &* number) }, .outbound,
    time: 1_800_000_000_000_000 + Int64(number), from: CaptureAddress(bytes: [192, 0, 2, 1], port: 4000),
    to: CaptureAddress(bytes: [192, 0, 2, 2], port: 50_000))
}

private final class Received: Sendable {
  let bytes = Lock<[UInt8]>([])
}

@Suite struct PacketCaptureTests {
  @Test func whatIsRecordedIsInTheFile() throws {
    let descriptor = try temporary()
    let copy = dup(descriptor)
    defer { close(copy) }
    let capture = PacketCapture(descriptor: descriptor)
    let long = CaptureAddress(bytes: Array(1...16), port: 443)
    capture.record(packet(3))
    capture.record(
      CapturedPacket(.rtcp, [0x80, 201, 0, 1, 0, 0, 0, 9], .inbound, time: 7, from: long, to: long))
    #expect(capture.close(within: .seconds(60)) == PacketCapture.Result(packets: 2, dropped: 0, errno: nil))
    let file = try CaptureFile(try contents(copy))
    #expect(file.linkType == 252)
    #expect(file.counted?.received == 2 && file.counted?.dropped == 0)
    try #require(file.packets.count == 2)
    #expect(
      file.packets[0]
        == CaptureFile.Packet(
          kind: "rtp", source: [192, 0, 2, 1], destination: [192, 0, 2, 2], sourcePort: 4000,
          destinationPort: 50_000, time: 1_800_000_000_000_003, flags: 2, bytes: packet(3).bytes))
    #expect(file.packets[1].kind == "rtcp" && file.packets[1].flags == 1 && file.packets[1].time == 7)
    #expect(
      file.packets[1].source == Array(1...16) && file.packets[1].bytes == [0x80, 201, 0, 1, 0, 0, 0, 9])
  }

  @Test func aReaderThatStopsCostsPacketsAndNoTime() throws {
    var ends: [Int32] = [0, 0]
    try #require(pipe(&ends) == 0)
    let (reading, writing) = (ends[0], ends[1])
    let capture = PacketCapture(descriptor: writing, capacity: 100)
    // Far more than a pipe and the mailbox hold. None of this may wait.
    let total = 5000
    for number in 0..<total { capture.record(packet(number, size: 1000)) }
    let all = Received()
    let reader = MediaThread(name: "reader") {
      var part = [UInt8](repeating: 0, count: 65536)
      while true {
        let count = read(reading, &part, part.count)
        if count <= 0 { return }
        all.bytes.withLock { $0 += part[..<count] }
      }
    }
    let result = capture.close(within: .seconds(60))
    #expect(reader.join(until: MonotonicClock.now() + .seconds(60)))
    let file = try CaptureFile(all.bytes.withLock { $0 })
    close(reading)
    #expect(result.dropped > 0 && result.packets + result.dropped == total)
    #expect(file.packets.count == result.packets && file.packets.first?.bytes == packet(0, size: 1000).bytes)
    #expect(file.counted?.received == total && file.counted?.dropped == result.dropped)
  }

  @Test func aFullDiskIsTold() throws {
    let capture = PacketCapture(descriptor: open("/dev/full", O_WRONLY))
    capture.record(packet(1))
    #expect(capture.close(within: .seconds(60)).errno == ENOSPC)
  }

  @Test(
    arguments: [
      ("host 127.0.0.1:4000", [127, 0, 0, 1], 4000), ("relay 203.0.113.9:1", [203, 0, 113, 9], 1),
      ("srflx [2001:db8::1]:65535", [0x20, 1, 0x0D, 0xB8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1], 65535),
      ("host 2001:db8::1:9", [0x20, 1, 0x0D, 0xB8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1], 9),
    ] as [(String, [UInt8], UInt16)])
  func endsOfPairsAreRead(text: String, bytes: [UInt8], port: UInt16) {
    #expect(CaptureAddress(pairEnd: text) == CaptureAddress(bytes: bytes, port: port))
  }

  @Test(arguments: ["", "host", "host 127.0.0.1", "host name.local:40", "127.0.0.1:4", "host 1.2.3.4:70000"])
  func whatIsNoEndIsNone(text: String) { #expect(CaptureAddress(pairEnd: text) == nil) }

  @Test @NetworkActor func payloadTypesAreDescribedOnceAPath() throws {
    let descriptor = try temporary()
    let copy = dup(descriptor)
    defer { close(copy) }
    let capture = PacketCapture(descriptor: descriptor)
    let connection = ConnectionCapture(capture)
    var video = SendStreamConfiguration(kind: .video, ssrc: 1, payloadType: 96)
    video.rtx = .init(ssrc: 2, payloadType: 97)
    var protected = ReceiveStreamConfiguration(kind: .video, payloadTypes: [100])
    protected.redundantPayloadType = 101
    protected.parityPayloadType = 102
    connection.streamsChanged(
      [video, SendStreamConfiguration(kind: .audio, ssrc: 3, payloadType: 111)], [protected])
    connection.pathChanged(("host 192.0.2.1:4000", "host 192.0.2.2:5000"))
    for _ in 0..<2 { connection.record(.rtp, [0x80, 96], .outbound, at: MonotonicClock.now()) }
    connection.pathChanged(("host 192.0.2.1:4000", "host 192.0.2.2:5000"))
    connection.record(.rtp, [0x80, 96], .inbound, at: MonotonicClock.now())
    _ = capture.close(within: .seconds(60))
    let packets = try CaptureFile(try contents(copy)).packets
    #expect(packets.map(\.kind) == ["sdp", "sdp", "rtp", "rtp", "rtp"])
    let text = String(decoding: try #require(packets.first).bytes, as: UTF8.self)
    #expect(
      text.contains("c=IN IP4 192.0.2.2\r\n")
        && text.contains("m=video 5000 RTP/AVP 96 97 100 101 102 111\r\n"))
    #expect(text.contains("a=rtpmap:97 rtx/90000\r\n") && text.contains("a=rtpmap:111 opus/48000/2\r\n"))
    #expect(text.contains("a=rtpmap:101 red/90000\r\n") && text.contains("a=rtpmap:102 ulpfec/90000\r\n"))
    #expect(packets[4].source == [192, 0, 2, 2] && packets[4].destinationPort == 4000)
  }
}

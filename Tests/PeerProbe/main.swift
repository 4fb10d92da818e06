import Base
import Codecs
import Glibc
import MediaIO
import OpenTokProtocol
import Peer
import RTP

// A peer for interoperability tests: offers and sends a test picture and a tone (`--offer`), or answers
// and counts what it receives. Signalling is JSON lines on stdin and stdout:
//   {"type":"offer"|"answer","sdp":…}  {"type":"candidate","candidate":…,"sdpMid":…,"sdpMLineIndex":…}
//   {"type":"stats"}  {"type":"bye"} or end of input: leave, with {"type":"stats",…} as the last line.

/// Sends or receives with the pipelines of a real call.
@NetworkActor
private final class Probe {
  private var connection: PeerConnection?
  private var publish: VideoPublishPipeline?
  private var subscribe: VideoSubscribePipeline?
  private var engine: AudioEngine?
  private var receiver: AudioReceiver?
  private let started = MonotonicClock.now()
  private var connected: Instant?
  private var firstFrame: Instant?
  private var association = ""
  private var failure: PeerError?

  init(relay: String?) throws {
    var configuration = PeerConnection.Configuration(certificate: try Certificate(), cname: "probe")
    configuration.includesLoopback = true
    if let relay {
      let parts = relay.split(separator: ",").map(String.init)
      configuration.iceServers = [
        .init(
          urls: [parts[0]], username: parts.count > 1 ? parts[1] : nil,
          credential: parts.count > 2 ? parts[2] : nil)
      ]
      configuration.relayOnly = true
    }
    connection = PeerConnection(configuration: configuration) { [weak self] in self?.heard($0) }
  }

  func offer() throws {
    guard let connection else { return }
    let videoFrames = NetworkMailbox<EncodedVideoFrame>(capacity: 8, overflow: .dropNewest) {
      connection.send($0)
    }
    let audioFrames = NetworkMailbox<EncodedAudioFrame>(capacity: 16, overflow: .dropOldest) {
      connection.send($0)
    }
    let size = VideoSize(width: 640, height: 480)
    if let source = try VideoSourceSpecification.test.makeSource(size: size, frameRate: 30) {
      publish = VideoPublishPipeline(source: source, size: size, frameRate: 30, maximumBitrate: 1_500_000) {
        videoFrames.put($0)
      }
    }
    engine = AudioEngine(source: try AudioSourceSpecification.tone(hertz: 440).makeSource(), sink: nil) {
      audioFrames.put($0)
    }
    say(["type": "offer", "sdp": .string(try connection.offer(audio: true, video: true, streamID: "probe"))])
  }

  func take(_ message: JSON) throws -> Bool {
    guard let connection, let type = message["type"]?.stringValue else { return true }
    switch type {
    case "offer":
      let answer = try connection.answer(toOffer: message["sdp"]?.stringValue ?? "")
      if subscribe == nil { try receive() }
      say(["type": "answer", "sdp": .string(answer)])
    case "answer": try connection.setAnswer(message["sdp"]?.stringValue ?? "")
    case "candidate":
      connection.addRemoteCandidate(
        message["candidate"]?.stringValue ?? "", sdpMid: message["sdpMid"]?.stringValue,
        sdpMLineIndex: message["sdpMLineIndex"]?.integerValue.map { Int(truncatingIfNeeded: $0) })
    case "stats": report()
    case "bye": return false
    default: break
    }
    return true
  }

  private func receive() throws {
    guard let connection else { return }
    subscribe = try VideoSubscribePipeline(renderer: nil) {
      NetworkActor.perform { connection.requestKeyFrame() }
    }
    let engine = AudioEngine(source: nil, sink: nil) { _ in }
    receiver = engine.addReceiver()
    try engine.start()
    self.engine = engine
  }

  private func heard(_ event: PeerEvent) {
    switch event {
    case .localCandidate(let candidate, let mid, let index):
      say([
        "type": "candidate", "candidate": .string(candidate), "sdpMid": mid.map { .string($0) } ?? .null,
        "sdpMLineIndex": .integer(Int64(index)),
      ])
    case .connected(let description):
      association = description
      connected = MonotonicClock.now()
      do {
        try publish?.start()
        if publish != nil { try engine?.start() }
      } catch {
        failure = .library(error.message)
      }
    case .failed(let error): failure = error
    case .keyFrameRequested: publish?.requestKeyFrame()
    case .targetBitrate(let bitsPerSecond): publish?.setEncodings([VideoEncoding(bitrate: bitsPerSecond)])
    case .packetLoss(let share): engine?.setPacketLoss(share)
    case .video(let frame):
      if firstFrame == nil { firstFrame = MonotonicClock.now() }
      subscribe?.push(frame)
    case .audio(let packet): receiver?.push(packet)
    case .audioMinimumDelay(let delay): receiver?.setMinimumDelay(delay)
    case .gatheringComplete, .relayFailed, .iceStateChanged, .remoteClosed: break
    }
  }

  func leave() {
    report()
    publish?.stop()
    engine?.stop()
    subscribe?.stop()
    connection?.close()
  }

  private func report() {
    guard let statistics = connection?.statistics() else { return }
    let video = subscribe?.statistics
    let inbound = statistics.rtp?.inbound.first { $0.kind == .video }
    let outbound = statistics.rtp?.outbound.first { $0.kind == .video }
    func milliseconds(_ instant: Instant?) -> JSON {
      instant.map { .number(($0 - started).milliseconds) } ?? .null
    }
    say([
      "type": "stats", "association": .string(association),
      "local": .string(statistics.localCandidate ?? ""), "remote": .string(statistics.remoteCandidate ?? ""),
      "connectedAfter": milliseconds(connected), "firstFrameAfter": milliseconds(firstFrame),
      "failure": .string(failure.map { "\($0.stage.rawValue): \($0)" } ?? ""),
      "framesDecoded": .integer(Int64(video?.framesDecoded ?? 0)),
      "framesPerSecond": .integer(Int64(video?.framesPerSecond ?? 0)),
      "frameWidth": .integer(Int64(video?.frameWidth ?? 0)),
      "toneHz": .integer(Int64(receiver?.toneHz ?? 0)),
      "audioPackets": .integer(Int64(receiver?.statistics.packetsReceived ?? 0)),
      "packetsLost": .integer(Int64(inbound?.packetsLost ?? 0)),
      "framesSent": .integer(Int64(outbound?.framesSent ?? 0)),
      "pliCount": .integer(Int64(outbound?.pliCount ?? inbound?.pliCount ?? 0)),
      "targetBitrate": .integer(Int64(statistics.rtp?.availableOutgoingBitrate ?? 0)),
      "packetsSent": .integer(Int64(statistics.packetsSent)),
      "packetsReceived": .integer(Int64(statistics.packetsReceived)),
      "dropped": .string(statistics.dropped.description),
    ])
  }

  private func say(_ message: JSON) {
    let line = message.serialized() + [10]
    _ = line.withUnsafeBytes { write(1, $0.baseAddress, $0.count) }
  }
}

let arguments = CommandLine.arguments.dropFirst()
let relay = arguments.firstIndex(of: "--relay").flatMap { arguments.dropFirst($0).first }
do {
  let probe = try await Probe(relay: relay)
  if arguments.contains("--offer") { try await probe.offer() }
  while let line = readLine() {
    guard let message = try? JSON(parsing: line) else { continue }
    if try await !probe.take(message) { break }
  }
  await probe.leave()
} catch {
  print("{\"type\":\"error\",\"message\":\"\(error)\"}")
  exit(1)
}

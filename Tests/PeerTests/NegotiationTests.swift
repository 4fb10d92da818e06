import Base
import Foundation
import RTP
import SDP
import Testing

@testable import Peer

/// What real peers sent; copied for the SDP tests.
private let recorded: [String] = {
  let folder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .appending(path: "SDPTests/Fixtures")
  let files = try? FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
  return (files ?? []).filter { $0.pathExtension == "sdp" }.map { $0.path(percentEncoded: false) }.sorted()
}()

private func text(_ path: String) throws -> String { try String(contentsOfFile: path, encoding: .utf8) }

private func recorded(_ name: String) throws -> SessionDescription {
  let path = try #require(recorded.first { $0.hasSuffix("/\(name).sdp") })
  return try SessionDescription(parsing: try text(path))
}

private let local = LocalTransport(
  sessionID: 42, version: 3, userFragment: "abcd", password: "0123456789012345678901",
  fingerprint: Fingerprint(algorithm: "sha-256", bytes: [UInt8](repeating: 0xAB, count: 32)))

private func makeOffer(audio: Bool = true, video: Bool = true) -> MediaOffer {
  var random = SeededGenerator(seed: 1)
  return MediaOffer(audio: audio, video: video, streamID: "stream", cname: "name", random: &random)
}

@Suite struct MediaAnswerTests {
  @Test func thereAreRecordings() { #expect(recorded.count >= 30) }

  @Test(arguments: recorded)
  func mirrorsEveryRecordedOffer(path: String) throws {
    let offer = try SessionDescription(parsing: try text(path))
    // Offers of browsers without a camera are recvonly; answers were recorded too.
    let answer = try MediaAnswer(to: offer)
    let description = try SessionDescription(parsing: answer.description(local).serialized())
    #expect(description.media.map(\.kind) == offer.media.map(\.kind))
    #expect(description.media.map(\.mid) == offer.media.map(\.mid))
    for (index, medium) in description.media.enumerated() {
      guard !medium.isRejected else {
        #expect(medium.port == 0)
        continue
      }
      let offered = offer.media[index]
      #expect(medium.formats.allSatisfy { offered.formats.contains($0) })
      #expect(
        medium.codecs.allSatisfy { codec in
          ["opus", "red", "VP8", "rtx", "ulpfec"].contains { codec.isNamed($0) }
        })
      #expect(medium.rtcpMux)
      #expect(
        description.direction(ofMedium: index)
          == (offer.direction(ofMedium: index).sends ? .recvonly : .inactive))
      for known in medium.headerExtensions {
        #expect(offered.headerExtensions.contains { $0.id == known.id && $0.uri == known.uri })
      }
      for codec in medium.codecs {
        let original = try #require(offered.codecs.first { $0.payloadType == codec.payloadType })
        #expect(codec.feedback.allSatisfy { original.feedback.contains($0) })
      }
      let transport = try #require(description.transport(ofMedium: index))
      #expect(transport.usernameFragment == "abcd" && transport.fingerprints == [local.fingerprint])
      #expect([.active, .passive].contains(transport.setup))
    }
  }

  /// A short version of what the fuzzer does for hours.
  @Test func damagedDescriptionsDoNotTrap() throws {
    var generator = SeededGenerator(seed: 11)
    for path in recorded {
      let original = Array(try text(path).utf8)
      for _ in 0..<6 {
        var damaged = original
        for _ in 0..<Int.random(in: 1...6, using: &generator) {
          let start = Int.random(in: 0..<damaged.count, using: &generator)
          let end = min(damaged.count, start + Int.random(in: 1...12, using: &generator))
          switch UInt8.random(in: 0..<4, using: &generator) {
          case 0: damaged.removeSubrange(start..<end)
          case 1: damaged.insert(contentsOf: Array(damaged[start..<end]), at: start)
          case 2: for index in start..<end { damaged[index] = .random(in: 0...255, using: &generator) }
          default:
            let digits = "99999999999999999999999".utf8.prefix(end - start)
            damaged.replaceSubrange(start..<end, with: digits)
          }
        }
        damaged.withUnsafeBytes { NegotiationFuzz.run($0) }
      }
    }
  }

  @Test func receivesWhatChromiumSends() throws {
    let answer = try MediaAnswer(to: try recorded("chromium156-default-gumdata"))
    #expect(answer.streams.map(\.kind) == [.audio, .video])
    #expect(answer.transport.role == .client)
    let video = answer.streams[1]
    #expect(video.payloadTypes == [96] && video.rtxPayloadTypes == [97: 96, 119: 118])
    // Parity packets (ulpfec) in red.
    #expect(video.redundantPayloadType == 118 && video.parityPayloadType == 120)
    #expect(video.nack && video.pli && video.fir && video.remb && video.transportCC)
    #expect(video.ssrc != nil && video.rtxSSRC != nil)
    #expect(video.extensions.transportSequenceNumber != nil && video.extensions.mid != nil)
    #expect(answer.streams[0].payloadTypes == [111] && answer.streams[0].extensions.audioLevel != nil)
    #expect(answer.streams[0].redundantPayloadType == 63)
    let description = answer.description(local)
    // What comes first is what the browser sends.
    #expect(description.media[0].formats == ["63", "111"])
    #expect(description.media[0].codecs[0].parameters == "111/111")
    #expect(description.media[1].formats == ["96", "97", "118", "119", "120"])
    #expect(description.groups("BUNDLE") == [["0", "1"]])
    #expect(description.media.last?.kind == "application" && description.media.last?.port == 0)
  }

  @Test func keepsVideoFirst() throws {
    let answer = try MediaAnswer(to: try recorded("gstwebrtc-1.22-offer"))
    #expect(answer.streams.map(\.kind) == [.video, .audio])
    #expect(answer.mid == "video0")
    #expect(answer.streams[0].rtxPayloadTypes.isEmpty && !answer.streams[0].nack)
  }

  @Test func secondStreamsOfAKindAndUnbundledOnesAreRefused() throws {
    var offer = makeOffer().description(local)
    var second = offer.media[1]
    second.removeAttributes("mid")
    second.append(attribute: "mid", "2")
    offer.media.append(second)
    #expect(try MediaAnswer(to: offer).description(local).media.map(\.isRejected) == [false, false, true])
    offer.media.removeLast()
    offer.removeAttributes("group")
    #expect(try MediaAnswer(to: offer).description(local).media.map(\.isRejected) == [false, true])
  }

  @Test func iceLiteIsNoticed() throws {
    var offer = makeOffer().description(local)
    #expect(try MediaAnswer(to: offer).transport.isLite == false)
    offer.append(attribute: "ice-lite")
    #expect(try MediaAnswer(to: offer).transport.isLite)
  }

  @Test func roleFollowsTheOffer() throws {
    var offer = makeOffer(video: false).description(local)
    for (setup, role) in [("active", DTLSTransport.Role.server), ("passive", .client), ("actpass", .client)] {
      offer.media[0].removeAttributes("setup")
      offer.media[0].append(attribute: "setup", setup)
      #expect(try MediaAnswer(to: offer).transport.role == role)
    }
    offer.media[0].removeAttributes("setup")
    offer.media[0].append(attribute: "setup", "holdconn")
    #expect(throws: PeerError.self) { try MediaAnswer(to: offer) }
  }

  @Test(arguments: ["ice-ufrag", "ice-pwd", "fingerprint", "rtcp-mux", "rtpmap"])
  func offersThatLackSomethingAreErrors(name: String) {
    var offer = makeOffer(video: false).description(local)
    offer.media[0].removeAttributes(name)
    #expect(throws: PeerError.self) { try MediaAnswer(to: offer) }
  }

  @Test func anOfferWithoutMediaIsAnError() {
    #expect(throws: PeerError.invalidDescription("no audio or video that we can receive")) {
      try MediaAnswer(to: SessionDescription(id: 1, version: 1))
    }
  }
}

@Suite struct MediaOfferTests {
  @Test func saysWhatTheOtherSideNeeds() throws {
    let description = try SessionDescription(parsing: makeOffer().description(local).serialized())
    #expect(description.groups("BUNDLE") == [["0", "1"]])
    #expect(description.origin?.version == 3)
    let (audio, video) = (description.media[0], description.media[1])
    #expect(audio.formats == ["111", "63"] && video.formats == ["96", "97"])
    #expect(audio.codecs[0].parameter("useinbandfec") == "1" && audio.codecs[0].channels == 2)
    #expect(video.codecs[0].feedback == ["goog-remb", "transport-cc", "ccm fir", "nack", "nack pli"])
    #expect(video.codecs[1].associatedPayloadType == 96)
    #expect(video.sources.count == 2 && video.sources.allSatisfy { $0.cname == "name" })
    #expect(video.retransmissionSource(of: video.sources[0].ssrc) == video.sources[1].ssrc)
    #expect(
      audio.msid?.stream == "stream" && video.msid?.stream == "stream"
        && audio.msid?.track != video.msid?.track)
    for index in [0, 1] {
      #expect(description.direction(ofMedium: index) == .sendonly)
      #expect(description.transport(ofMedium: index)?.setup == .actpass)
      #expect(description.transport(ofMedium: index)?.options == ["trickle"])
      #expect(description.media[index].rtcpMux && description.media[index].rtcpReducedSize)
      #expect(description.media[index].headerExtensions.count >= 3)
    }
  }

  @Test func ourOwnAnswerIsUnderstood() throws {
    let offer = makeOffer()
    let answer = try MediaAnswer(to: offer.description(local))
    #expect(answer.streams.map(\.ssrc) == offer.sections.map(\.ssrc))
    let outcome = try offer.outcome(of: answer.description(local))
    #expect(outcome.streams.map(\.kind) == [.audio, .video])
    #expect(outcome.streams.map(\.payloadType) == [111, 96])
    #expect(outcome.streams[0].redundantPayloadType == 63 && answer.streams[0].redundantPayloadType == 63)
    #expect(outcome.streams[1].rtx == .init(ssrc: offer.sections[1].retransmissionSSRC ?? 0, payloadType: 97))
    #expect(outcome.streams[1].nack && outcome.streams[1].transportCC && outcome.streams[1].remb)
    #expect(outcome.streams[1].extensions.transportSequenceNumber == 3)
    #expect(outcome.transport.role == .server && outcome.reducedSizeRTCP)
  }

  @Test func copiesAreOfOurCodecOnly() throws {
    let offer = makeOffer(video: false)
    for (parameters, isTaken) in [("111/111", true), ("111/111/111", true), ("111", false), ("111/0", false)]
    {
      var description = offer.description(local)
      description.media[0].removeAttributes("fmtp")
      description.media[0].append(attribute: "fmtp", "63 \(parameters)")
      let answer = try MediaAnswer(to: description)
      #expect(answer.streams[0].redundantPayloadType == (isTaken ? 63 : nil))
      #expect(answer.description(local).media[0].formats.contains("63") == isTaken)
    }
    // A peer without it gets plain sound.
    var answer = try MediaAnswer(to: offer.description(local)).description(local)
    answer.media[0].formats = ["111"]
    #expect(try offer.outcome(of: answer).streams[0].redundantPayloadType == nil)
  }

  @Test func refusedMediaAreNotSent() throws {
    let offer = makeOffer()
    var answer = try MediaAnswer(to: offer.description(local)).description(local)
    answer.media[0].port = 0
    #expect(try offer.outcome(of: answer).streams.map(\.kind) == [.video])
    answer.media[1].removeAttributes("recvonly")
    answer.media[1].append(attribute: "inactive")
    #expect(throws: PeerError.invalidDescription("every medium was refused")) {
      try offer.outcome(of: answer)
    }
  }

  @Test func answersThatDoNotFitAreErrors() throws {
    let offer = makeOffer()
    let answer = try MediaAnswer(to: offer.description(local)).description(local)
    var short = answer
    short.media.removeLast()
    #expect(throws: PeerError.self) { try offer.outcome(of: short) }
    var swapped = answer
    swapped.media.swapAt(0, 1)
    #expect(throws: PeerError.self) { try offer.outcome(of: swapped) }
    var silent = answer
    silent.media[0].removeAttributes("fingerprint")
    #expect(throws: PeerError.invalidDescription("no fingerprint")) { try offer.outcome(of: silent) }
  }

  @Test func withoutRetransmissionStreamPacketsAreRepeated() throws {
    let offer = makeOffer(audio: false)
    var answer = try MediaAnswer(to: offer.description(local)).description(local)
    answer.media[0].formats = ["96"]
    let stream = try offer.outcome(of: answer).streams[0]
    #expect(stream.nack && stream.rtx == nil)
  }
}

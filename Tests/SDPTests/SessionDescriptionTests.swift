import Foundation
import SDP
import Testing

enum Fixture {
  static func text(_ name: String) throws -> String {
    let url = try #require(Bundle.module.url(forResource: "Fixtures/\(name)", withExtension: "sdp"))
    return try String(contentsOf: url, encoding: .utf8)
  }

  static func description(_ name: String) throws -> SessionDescription {
    try SessionDescription(parsing: text(name))
  }

  static func names() throws -> [String] {
    let folder = try #require(Bundle.module.url(forResource: "Fixtures", withExtension: nil))
    return try FileManager.default.contentsOfDirectory(atPath: folder.path)
      .filter { $0.hasSuffix(".sdp") }.map { String($0.dropLast(4)) }.sorted()
  }
}

struct SessionDescriptionTests {
  @Test func everyRecordedDescriptionComesOutTheSame() throws {
    let names = try Fixture.names()
    #expect(names.count == 33)
    for name in names {
      let text = try Fixture.text(name)
      let description = try SessionDescription(parsing: text)
      #expect(description.serialized() == text, "\(name)")
      let plain = text.replacingOccurrences(of: "\r\n", with: "\n")
      #expect(try SessionDescription(parsing: plain) == description, "\(name) with LF")
      #expect(
        try SessionDescription(parsing: String(plain.dropLast())) == description, "\(name) without an end")
      for (index, medium) in description.media.enumerated() {
        let transport = try #require(description.transport(ofMedium: index))
        #expect(transport.usernameFragment != nil && transport.password != nil, "\(name)")
        #expect(transport.fingerprints.first { $0.algorithm == "sha-256" }?.bytes.count == 32, "\(name)")
        #expect(transport.setup != nil, "\(name)")
        #expect(medium.mid != nil, "\(name)")
        #expect(medium.candidates.count == medium.attributes("candidate").count, "\(name)")
        #expect(medium.headerExtensions.count == medium.attributes("extmap").count, "\(name)")
        if medium.kind != "application" {
          #expect(medium.codecs.map { String($0.payloadType) } == medium.formats, "\(name)")
          #expect(medium.rtcpMux, "\(name)")
        }
      }
    }
  }

  @Test func chromium() throws {
    let description = try Fixture.description("chromium156-default-gumdata")
    #expect(description.origin?.id == 9_182_867_225_575_672_446)
    #expect(description.origin?.version == 2)
    #expect(description.groups("BUNDLE") == [["0", "1", "2"]])
    #expect(description.groups("LS") == [])
    #expect(description.media.map(\.kind) == ["audio", "video", "application"])
    #expect(description.media.map(\.port)[0...1] == [59057, 44586])

    let audio = description.media[0]
    #expect(audio.transportProtocol == "UDP/TLS/RTP/SAVPF")
    #expect(
      audio.codecs[0]
        == Codec(
          payloadType: 111, name: "opus", clockRate: 48000, channels: 2,
          parameters: "minptime=10;useinbandfec=1", feedback: ["transport-cc"]))
    #expect(audio.codecs[0].parameter("useinbandfec") == "1")
    #expect(audio.codecs[0].parameter("stereo") == nil)
    #expect(audio.codecs.map(\.payloadType) == [111, 63, 9, 0, 8, 13, 110, 126])
    #expect(audio.headerExtensions.map(\.id) == [1, 2, 3, 4])
    #expect(audio.headerExtensions[3] == HeaderExtension(id: 4, uri: "urn:ietf:params:rtp-hdrext:sdes:mid"))
    #expect(audio.mid == "0")
    #expect(description.direction(ofMedium: 0) == .sendrecv)
    #expect(audio.msid?.stream == "be84b51d-c1fc-498f-a70f-52012feb3655")
    #expect(audio.msid?.track == "c0c72820-7d7a-44d0-80eb-caede278d010")
    #expect(audio.sources.map(\.ssrc) == [507_335_138])
    #expect(audio.sources[0].cname == "Sap8CXpnW4QL3FzF")
    #expect(audio.rtcpMux && audio.rtcpReducedSize && !audio.endOfCandidates && !audio.isRejected)
    #expect(audio.candidates.map(\.port) == [59057, 9])
    #expect(audio.candidates[1].tcpType == "active")

    let video = description.media[1]
    #expect(
      video.codecs[0]
        == Codec(
          payloadType: 96, name: "VP8", clockRate: 90000,
          feedback: ["goog-remb", "transport-cc", "ccm fir", "nack", "nack pli"]))
    #expect(video.codecs[1].isNamed("RTX") && video.codecs[1].associatedPayloadType == 96)
    #expect(video.codecs[0].associatedPayloadType == nil)
    let group = try #require(video.sourceGroups.first)
    #expect(group.semantics == "FID" && group.ssrcs == video.sources.map(\.ssrc))
    #expect(video.retransmissionSource(of: group.ssrcs[0]) == group.ssrcs[1])
    #expect(video.retransmissionSource(of: group.ssrcs[1]) == nil)

    let transport = try #require(description.transport(ofMedium: 1))
    #expect(transport.usernameFragment == "SRB1")
    #expect(transport.password == "oOj2werbhN3dInmZmcAGLITs")
    #expect(transport.options == ["trickle"])
    #expect(transport.setup == .actpass)
    #expect(transport.fingerprints[0].bytes[0...2] == [0x9C, 0x9B, 0x43])
    #expect(
      transport.fingerprints[0].text
        == "sha-256 9C:9B:43:EC:FF:33:40:4F:C5:A8:D7:D1:F8:0B:8F:41:EE:89:E1:8B:89:A1:41:DD:F4:14:19:DD:8D:67:C8:33"
    )
    #expect(description.media[2].formats == ["webrtc-datachannel"])
    #expect(description.media[2].attribute("sctp-port") == "5000")
    #expect(description.medium(mid: "2")?.kind == "application")
  }

  @Test func firefoxSaysFingerprintAndOptionsForTheSession() throws {
    let description = try Fixture.description("firefox153-default-gum")
    let transport = try #require(description.transport(ofMedium: 1))
    #expect(transport.fingerprints.map(\.algorithm) == ["sha-256"])
    #expect(transport.fingerprints[0].bytes[0...1] == [0xF6, 0x89])
    #expect(transport.options == ["trickle"])
    #expect(transport.usernameFragment == "48a2eb56")
    let audio = description.media[0]
    #expect(audio.headerExtensions[1].direction == .recvonly)
    #expect(audio.codecs.map(\.name) == ["opus", "G722", "PCMU", "PCMA", "telephone-event"])
    #expect(audio.codecs[0].parameter("stereo") == "1")
    #expect(audio.msid?.stream == "{12955fbc-9e6e-4701-91ca-23f8e2ece5f9}")
    #expect(audio.endOfCandidates)
    #expect(audio.candidates.map(\.component) == [1, 1, 2, 2])
    let video = description.media[1]
    #expect(video.codecs.map(\.payloadType) == [120, 124, 121, 125, 99, 100, 123, 122, 119])
    #expect(video.codecs.map(\.associatedPayloadType) == [nil, 120, nil, 121, nil, 99, nil, nil, 122])
    #expect(video.codecs[0].feedback == ["nack", "nack pli", "ccm fir", "goog-remb", "transport-cc"])
    #expect(video.retransmissionSource(of: 3_878_202_076) == 254_045_453)
  }

  @Test func firefoxHidesAddresses() throws {
    let description = try Fixture.description("firefox153-mdns-gum")
    let candidates = description.media[0].candidates
    #expect(!candidates.isEmpty && candidates.allSatisfy(\.isMDNS))
  }

  @Test func aiortc() throws {
    let description = try Fixture.description("aiortc-offer")
    let transport = try #require(description.transport(ofMedium: 0))
    #expect(transport.fingerprints.map(\.algorithm) == ["sha-256", "sha-384", "sha-512"])
    #expect(transport.fingerprints.map(\.bytes.count) == [32, 48, 64])
    let audio = description.media[0]
    #expect(audio.candidates[0].foundation == "28d09117ed7be62fd2553196dd6100b6")
    #expect(audio.candidates[0].port == 38455)
    #expect(audio.endOfCandidates && !audio.rtcpReducedSize)
    #expect(description.media[1].codecs.map(\.payloadType) == [97, 98, 99, 100, 101, 102])
    #expect(description.media[1].retransmissionSource(of: 4_233_521_398) == 1_344_781_649)
  }

  @Test func gstreamerBundlesWithPortZero() throws {
    let description = try Fixture.description("gstwebrtc-1.22-offer")
    #expect(description.groups("BUNDLE") == [["video0", "audio1"]])
    let audio = try #require(description.medium(mid: "audio1"))
    #expect(audio.port == 0 && audio.bundleOnly && !audio.isRejected)
    #expect(audio.codecs[0].isNamed("opus") && audio.codecs[0].name == "OPUS")
    let video = description.media[0]
    #expect(video.msid?.stream == "user2368557926@host-a050dac3")
    #expect(video.msid?.track == "webrtctransceiver0")
    #expect(
      video.sources == [
        MediaSource(
          ssrc: 1_290_833_876,
          attributes: [
            SDPAttribute("msid", "user2368557926@host-a050dac3 webrtctransceiver0"),
            SDPAttribute("cname", "user2368557926@host-a050dac3"),
          ])
      ])
    #expect(description.transport(ofMedium: 0)?.usernameFragment == "N4zlUZdI6I5SibrOx0lX76fH9Md/9YVq")
    #expect(description.transport(ofMedium: 0)?.options == ["trickle"])
  }

  @Test func janus() throws {
    let description = try Fixture.description("janus112-videoroom-subscriber-offer")
    #expect(description.direction(ofMedium: 0) == .sendonly)
    #expect(description.direction(ofMedium: 1) == .sendonly)
    #expect(description.media[1].msid?.track == "janus1")
    #expect(description.media[1].codecs[1].associatedPayloadType == 96)
    #expect(description.transport(ofMedium: 1)?.fingerprints.first?.bytes[0] == 0x98)
    let answer = try Fixture.description("janus112-videoroom-answer")
    #expect(answer.transport(ofMedium: 0)?.setup == .active)
    #expect(answer.direction(ofMedium: 0) == .recvonly)
  }

  @Test func builds() throws {
    var description = SessionDescription(id: .max, version: 3)
    description.append(attribute: "group", "BUNDLE 0")
    var audio = MediaDescription(kind: "audio", port: 9, transportProtocol: "UDP/TLS/RTP/SAVPF")
    audio.lines.append(SDPLine("c", "IN IP4 0.0.0.0"))
    audio.append(
      TransportDescription(
        usernameFragment: "abcd", password: "0123456789012345678901", options: ["trickle"],
        fingerprints: [Fingerprint(algorithm: "SHA-256", bytes: [1, 0xAB])], setup: .actpass))
    audio.append(attribute: "mid", "0")
    audio.append(attribute: MediaDirection.sendonly.rawValue)
    audio.append(HeaderExtension(id: 4, direction: .sendonly, uri: "urn:x"))
    audio.append(
      Codec(
        payloadType: 111, name: "opus", clockRate: 48000, channels: 2, parameters: "useinbandfec=1",
        feedback: ["transport-cc"]))
    audio.append(Codec(payloadType: 0, name: "PCMU", clockRate: 8000))
    audio.append(MediaSourceGroup(semantics: "FID", ssrcs: [1, 2]))
    audio.append(MediaSource(ssrc: 1, cname: "me", msid: "s t"))
    audio.append(
      ICECandidate(
        foundation: "1", priority: 5, address: "::1", port: 7, kind: .srflx, relatedAddress: "0.0.0.0",
        relatedPort: 9, attributes: [SDPAttribute("generation", "0")]))
    description.media.append(audio)
    let lines = [
      "v=0", "o=- 9223372036854775807 3 IN IP4 127.0.0.1", "s=-", "t=0 0", "a=group:BUNDLE 0",
      "m=audio 9 UDP/TLS/RTP/SAVPF 111 0", "c=IN IP4 0.0.0.0", "a=ice-ufrag:abcd",
      "a=ice-pwd:0123456789012345678901", "a=ice-options:trickle", "a=fingerprint:sha-256 01:AB",
      "a=setup:actpass", "a=mid:0", "a=sendonly", "a=extmap:4/sendonly urn:x", "a=rtpmap:111 opus/48000/2",
      "a=rtcp-fb:111 transport-cc", "a=fmtp:111 useinbandfec=1", "a=rtpmap:0 PCMU/8000",
      "a=ssrc-group:FID 1 2",
      "a=ssrc:1 cname:me", "a=ssrc:1 msid:s t",
      "a=candidate:1 1 udp 5 ::1 7 typ srflx raddr 0.0.0.0 rport 9 generation 0", "",
    ]
    #expect(description.serialized() == lines.joined(separator: "\r\n"))
    #expect(try SessionDescription(parsing: description.serialized()) == description)
  }

  @Test(arguments: [
    ("", SDPError.notADescription), ("\r\n\r\n", .notADescription), ("s=-\r\nv=0", .notADescription),
    ("v=0\nhello", .syntax(line: 2)), ("v=0\n=x", .syntax(line: 2)), ("v=0\nv=0", .syntax(line: 2)),
    ("v=0\n\nA=x", .syntax(line: 3)), ("v=0\nm=audio", .syntax(line: 2)), ("v=0\rs=-", .syntax(line: 1)),
    ("v=0\nm=audio 70000 RTP/AVP 0", .syntax(line: 2)), ("v=0\nm=audio -1 RTP/AVP 0", .syntax(line: 2)),
    ("v=0\né=1", .syntax(line: 2)), (String(repeating: "v=0\n", count: 40000), .tooLarge),
    ("v=0\n" + String(repeating: "m=audio 9 RTP/AVP 0\n", count: 65), .tooLarge),
  ])
  func refuses(text: String, error: SDPError) {
    #expect(throws: error) { try SessionDescription(parsing: text) }
  }

  @Test func wildValuesAreSkipped() throws {
    let text = """
      v=0
      m=audio 9/2 RTP/AVP 0 0 128 256 -1 x 96 97 98
      a=rtpmap:96 opus/99999999999/2
      a=rtpmap:97 /8000
      a=rtpmap:98 x/8000/999
      a=rtpmap:
      a=rtpmap:98
      a=rtcp-fb:* nack
      a=rtcp-fb:
      a=fmtp:98 ;=;a;apt=300; B = c =d
      a=ssrc:4294967296 cname:x
      a=ssrc:1
      a=ssrc:
      a=ssrc-group:FID 1 x
      a=ssrc-group:
      a=extmap:0 urn:x
      a=extmap:99999999999999999999 urn:x
      a=extmap:1
      a=fingerprint:sha-256 AB:C
      a=fingerprint:sha-256
      a=fingerprint:sha-256 +1:-1
      a=ice-ufrag:abc
      a=ice-pwd:short
      a=setup:maybe
      a=candidate:1 1 udp
      a=msid:
      a=:
      a=
      a
      """
    #expect(throws: SDPError.syntax(line: 29)) { try SessionDescription(parsing: text) }
    let description = try SessionDescription(parsing: String(text.dropLast(2)))
    let medium = description.media[0]
    #expect(medium.port == 9)
    #expect(
      medium.codecs == [
        Codec(payloadType: 0, name: "PCMU", clockRate: 8000, feedback: ["nack"]),
        Codec(
          payloadType: 98, name: "x", clockRate: 8000, parameters: ";=;a;apt=300; B = c =d",
          feedback: ["nack"]),
      ])
    #expect(medium.codecs[1].parameter("b") == "c =d")
    #expect(medium.codecs[1].parameter("a") == "")
    #expect(medium.sources == [MediaSource(ssrc: 1)])
    #expect(medium.sourceGroups == [])
    #expect(medium.headerExtensions == [])
    #expect(
      description.transport(ofMedium: 0)
        == TransportDescription(usernameFragment: nil, password: nil, fingerprints: [], setup: nil))
    #expect(description.transport(ofMedium: 1) == nil)
    #expect(description.direction(ofMedium: 0) == .sendrecv)
    #expect(description.direction(ofMedium: -1) == .inactive)
    #expect(medium.candidates == [])
    #expect(medium.msid == nil)
  }

  @Test func numbersOfCodecsSourcesAndFeedbackAreBounded() throws {
    let many = (0..<2000)
    let text =
      "v=0\nm=video 9 RTP/AVP \(many.map { String($0 % 128) }.joined(separator: " "))\n"
      + many.map { "a=ssrc:\($0) a:b\n" }.joined() + many.map { _ in "a=rtcp-fb:* nack\n" }.joined()
      + (0..<128).map { "a=rtpmap:\($0) VP8/90000\n" }.joined()
    let medium = try SessionDescription(parsing: text).media[0]
    #expect(medium.codecs.count == 128)
    #expect(medium.codecs[0].feedback.count == MediaDescription.maximumFeedback)
    #expect(medium.sources.count == MediaDescription.maximumSources)
  }
}

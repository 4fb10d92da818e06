import Base
import Glibc
import OpenTokProtocol
import Peer
import RTP
import SDP
import SessionServer

/// Called by libFuzzer with each input. `OTCHAT_FUZZ_BODY` names the parser; see `scripts/fuzz`.
@_cdecl("LLVMFuzzerTestOneInput")
public func testOneInput(_ start: UnsafeRawPointer?, _ count: Int) -> CInt {
  Fuzz.body(UnsafeRawBufferPointer(start: start, count: count))
  return 0
}

enum Fuzz {
  static let body: @Sendable (UnsafeRawBufferPointer) -> Void = {
    let name = getenv("OTCHAT_FUZZ_BODY").map { String(cString: $0) } ?? ""
    guard let body = named(name) else {
      Log.error("fuzz", "OTCHAT_FUZZ_BODY names no body: \(name)")
      exit(64)
    }
    return body
  }()

  // `scripts/fuzz` reads the names from here.
  private static func named(_ name: String) -> (@Sendable (UnsafeRawBufferPointer) -> Void)? {
    switch name {
    case "ice-candidate": { fuzzICECandidate($0) }
    case "mdns": { MulticastDNSFuzz.run($0) }
    case "negotiation": { NegotiationFuzz.run($0) }
    case "raptor": { fuzzRaptor($0) }
    case "room": { fuzzRoom($0) }
    case "rtcp": { RTPFuzz.rtcpPacket($0) }
    case "rtp": { RTPFuzz.rtpPacket($0) }
    case "rtp-session": { RTPFuzz.session($0) }
    case "rumor": { fuzzRumor($0) }
    case "sdp": { fuzzSDP($0) }
    case "session-info": { fuzzSessionInfo($0) }
    case "token": { fuzzToken($0) }
    case "red": { RTPFuzz.redundantAudio($0) }
    case "vp8-payload": { RTPFuzz.vp8PayloadDescriptor($0) }
    default: nil
    }
  }
}

import Base
import SDP

/// A fuzzing body: everything that a stranger's description passes through before anything is sent.
package enum NegotiationFuzz {
  private static let local = LocalTransport(
    sessionID: 1, version: 1, userFragment: "fuzz", password: "0123456789012345678901",
    fingerprint: Fingerprint(algorithm: "sha-256", bytes: [UInt8](repeating: 1, count: 32)))

  /// Takes `bytes` for an offer and for an answer. Must not trap; what we answer must be understood by
  /// ourselves.
  package static func run(_ bytes: UnsafeRawBufferPointer) {
    let text = String(decoding: bytes, as: UTF8.self)
    guard let description = try? SessionDescription(parsing: text) else { return }
    if let answer = try? MediaAnswer(to: description) {
      let written = answer.description(local).serialized()
      guard let parsed = try? SessionDescription(parsing: written) else {
        preconditionFailure("our own answer cannot be parsed")
      }
      precondition(parsed.media.count == description.media.count, "an answer mirrors its offer")
    }
    var random = SeededGenerator(seed: 1)
    let offer = MediaOffer(audio: true, video: true, streamID: "s", cname: "c", random: &random)
    _ = try? offer.outcome(of: description)
  }
}

/// A fuzzing body: what anybody in the local network may send to the port of multicast DNS.
package enum MulticastDNSFuzz {
  package static func run(_ bytes: UnsafeRawBufferPointer) {
    for record in MulticastDNSMessage.records(in: bytes) {
      precondition(record.name.utf8.count < 1024 && record.address.utf8.count < 64, "bounded")
    }
  }
}

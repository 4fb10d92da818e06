/// One medium of a description: its `m=` line and the lines below it.
package struct MediaDescription: SDPSection, Equatable, Sendable {
  /// `audio`, `video`, `application`, …
  package var kind: String
  /// 0: rejected or stopped, or bundled with another.
  package var port: UInt16
  /// `UDP/TLS/RTP/SAVPF`, …
  package var transportProtocol: String
  /// Payload types as text, or other names behind the protocol.
  package var formats: [String]
  /// The lines behind the `m=` line.
  package var lines: [SDPLine] = []

  package init(kind: String, port: UInt16, transportProtocol: String, formats: [String] = []) {
    self.kind = kind
    self.port = port
    self.transportProtocol = transportProtocol
    self.formats = formats
  }

  /// The value of an `m=` line.
  init?(_ value: Substring) {
    let words = value.words
    guard words.count >= 3, let port = UInt16(words[1].parts("/")[0]) else { return nil }
    // A number of ports has no use in WebRTC; such a medium is kept as it is but for that.
    self.init(
      kind: String(words[0]), port: port, transportProtocol: String(words[2]),
      formats: words.dropFirst(3).map(String.init))
  }

  var line: String { ([kind, String(port), transportProtocol] + formats).joined(separator: " ") }

  package var mid: String? { attribute("mid").map(String.init) }
  package var rtcpMux: Bool { has("rtcp-mux") }
  package var rtcpReducedSize: Bool { has("rtcp-rsize") }
  package var bundleOnly: Bool { has("bundle-only") }
  package var endOfCandidates: Bool { has("end-of-candidates") }

  /// Refused or stopped, not merely carried by another medium's transport.
  package var isRejected: Bool { port == 0 && !bundleOnly }

  /// Stream and track of the first `msid` (RFC 8830), or if there is none of the first `ssrc` that has it.
  /// The stream `-` means none.
  package var msid: (stream: String, track: String?)? {
    guard let words = (attribute("msid") ?? sources.lazy.compactMap({ $0["msid"]?[...] }).first)?.words,
      let stream = words.first
    else { return nil }
    return (String(stream), words.dropFirst().first.map(String.init))
  }

  /// Candidates that can be read; the others are left out.
  package var candidates: [ICECandidate] {
    attributes("candidate").compactMap { try? ICECandidate(parsing: String($0)) }
  }

  package mutating func append(_ candidate: ICECandidate) {
    append(attribute: "candidate", candidate.value)
  }

  /// Writes the transport's lines: `ice-ufrag`, `ice-pwd`, `ice-options`, `fingerprint`, `setup`.
  package mutating func append(_ transport: TransportDescription) {
    if let fragment = transport.usernameFragment { append(attribute: "ice-ufrag", fragment) }
    if let password = transport.password { append(attribute: "ice-pwd", password) }
    if !transport.options.isEmpty {
      append(attribute: "ice-options", transport.options.joined(separator: " "))
    }
    for fingerprint in transport.fingerprints { append(attribute: "fingerprint", fingerprint.text) }
    if let setup = transport.setup { append(attribute: "setup", setup.rawValue) }
  }
}

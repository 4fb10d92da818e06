import SDP

/// What the other side's description says about ICE and DTLS, of the media section that carries them all.
struct RemoteTransport: Sendable, Equatable {
  var userFragment: String
  var password: String
  var fingerprints: [Fingerprint]
  /// Ours, in the DTLS handshake.
  var role: DTLSTransport.Role
  var candidates: [ICECandidate]
  var endOfCandidates: Bool
  /// Answers checks but makes none, as media servers do: then we decide (RFC 8445, 6.1.1).
  var isLite: Bool

  /// - Parameters:
  ///   - index: of the section.
  ///   - isOffer: whether the description is an offer; who answers `actpass` becomes the client.
  init(_ description: SessionDescription, section index: Int, isOffer: Bool) throws(PeerError) {
    guard let transport = description.transport(ofMedium: index), let fragment = transport.usernameFragment,
      let password = transport.password
    else { throw .invalidDescription("no ice-ufrag and ice-pwd of allowed length") }
    guard !transport.fingerprints.isEmpty else { throw .invalidDescription("no fingerprint") }
    switch (transport.setup, isOffer) {
    case (.holdconn, _): throw .invalidDescription("setup:holdconn")
    case (.active, _): role = .server
    case (.passive, _): role = .client
    case (.actpass, _), (nil, _): role = isOffer ? .client : .server
    }
    userFragment = fragment
    self.password = password
    fingerprints = transport.fingerprints
    candidates = description.media[index].candidates
    isLite = description.has("ice-lite")
    endOfCandidates = description.media[index].endOfCandidates || description.has("end-of-candidates")
  }

  /// Whether it is the same DTLS association: not after the other side has started anew.
  func hasSameAssociation(as other: RemoteTransport) -> Bool { fingerprints == other.fingerprints }

  /// Whether ICE goes on as it is (RFC 8839, 4.4.1.1.1: both change on a restart).
  func hasSameCredentials(as other: RemoteTransport) -> Bool {
    userFragment == other.userFragment && password == other.password
  }
}

/// What the two kinds of description say of ourselves.
struct LocalTransport: Sendable {
  /// Number of the session and version of this description (`o=`).
  var sessionID: UInt64
  var version: UInt64
  var userFragment: String
  var password: String
  var fingerprint: Fingerprint

  func description(setup: TransportDescription.Setup) -> TransportDescription {
    TransportDescription(
      usernameFragment: userFragment, password: password, options: ["trickle"], fingerprints: [fingerprint],
      setup: setup)
  }
}

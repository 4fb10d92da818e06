/// What two sides tell each other about ICE and DTLS.
package struct TransportDescription: Equatable, Sendable {
  /// Who starts the DTLS handshake (RFC 8842).
  package enum Setup: String, Sendable {
    case active, passive, actpass, holdconn
  }

  package var usernameFragment: String?
  package var password: String?
  /// `trickle`, `ice2`, `renomination`, …
  package var options: [String]
  package var fingerprints: [Fingerprint]
  package var setup: Setup?

  package init(
    usernameFragment: String?, password: String?, options: [String] = [], fingerprints: [Fingerprint],
    setup: Setup?
  ) {
    self.usernameFragment = usernameFragment
    self.password = password
    self.options = options
    self.fingerprints = fingerprints
    self.setup = setup
  }

  /// What one section says; texts of wrong lengths (RFC 8839, 5.4) count as absent.
  init(_ section: some SDPSection) {
    usernameFragment = section.attribute("ice-ufrag").flatMap {
      (4...256).contains($0.utf8.count) ? String($0) : nil
    }
    password = section.attribute("ice-pwd").flatMap { (22...256).contains($0.utf8.count) ? String($0) : nil }
    options = section.attribute("ice-options")?.words.map(String.init) ?? []
    fingerprints = section.attributes("fingerprint").compactMap { Fingerprint($0) }
    setup = section.attribute("setup").flatMap { Setup(rawValue: String($0)) }
  }
}

/// Hash of a certificate (RFC 8122).
package struct Fingerprint: Hashable, Sendable {
  /// Lower case: `sha-256`.
  package var algorithm: String
  package var bytes: [UInt8]

  package init(algorithm: String, bytes: [UInt8]) {
    self.algorithm = algorithm.lowercased()
    self.bytes = bytes
  }

  /// `sha-256 AB:CD:…`
  package init?(_ text: Substring) {
    let words = text.words
    guard words.count == 2 else { return nil }
    var bytes: [UInt8] = []
    for pair in words[1].parts(":") {
      guard pair.utf8.count == 2, let byte = UInt8(pair, radix: 16) else { return nil }
      bytes.append(byte)
    }
    self.init(algorithm: String(words[0]), bytes: bytes)
  }

  package var text: String {
    let pairs = bytes.map { byte in
      (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
    }
    return algorithm + " " + pairs.joined(separator: ":")
  }
}

/// Who sends a medium, from the view of the one who wrote the description.
package enum MediaDirection: String, Sendable {
  case sendrecv, sendonly, recvonly, inactive

  package var sends: Bool { self == .sendrecv || self == .sendonly }
  package var receives: Bool { self == .sendrecv || self == .recvonly }

  /// The same seen from the other side.
  package var reversed: MediaDirection {
    switch self {
    case .sendonly: .recvonly
    case .recvonly: .sendonly
    case .sendrecv, .inactive: self
    }
  }

  init?(_ section: some SDPSection) {
    for line in section.lines {
      guard let name = line.attribute?.name, let direction = MediaDirection(rawValue: String(name)) else {
        continue
      }
      self = direction
      return
    }
    return nil
  }
}

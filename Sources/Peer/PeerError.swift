/// Why a peer connection could not be made or ended.
package enum PeerError: Error, Equatable, Sendable {
  /// The other side's description cannot be parsed or used; the text says what is wrong with it.
  case invalidDescription(String)
  /// A call that this state does not allow, such as an answer without an offer.
  case wrongState(String)
  /// The other side never answered our offer.
  case answerTimedOut(after: Duration)
  /// No candidate pair worked within the limit.
  case iceTimedOut(after: Duration)
  /// Every candidate pair failed.
  case iceFailed
  /// There was a path, and the other side no longer answers on it (RFC 7675).
  case consentLost
  /// The DTLS handshake did not end within the limit.
  case handshakeTimedOut(after: Duration)
  /// The other side ended the DTLS handshake or broke its rules; OpenSSL's reason.
  case handshakeFailed(String)
  /// The other side's certificate is not the one its description promised (RFC 8122).
  case fingerprintMismatch
  /// Both sides have no SRTP protection profile in common (RFC 5764).
  case noProtectionProfile
  /// Connected, but not one authentic packet came within the limit.
  case mediaTimedOut(after: Duration)
  /// A library on this machine refused; which, and why.
  case library(String)

  /// The step of connecting that it belongs to.
  package enum Stage: String, Sendable {
    case signalling, ice, dtls, media, local
  }

  package var stage: Stage {
    switch self {
    case .invalidDescription, .wrongState, .answerTimedOut: .signalling
    case .iceTimedOut, .iceFailed, .consentLost: .ice
    case .handshakeTimedOut, .handshakeFailed, .fingerprintMismatch, .noProtectionProfile: .dtls
    case .mediaTimedOut: .media
    case .library: .local
    }
  }
}

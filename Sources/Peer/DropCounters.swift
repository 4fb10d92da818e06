/// Why a packet was given up.
package enum DropReason: Int, CaseIterable, Sendable {
  /// A datagram without a byte.
  case empty
  /// STUN that libnice would not take: truncated or not authentic.
  case stun
  /// Neither STUN, DTLS nor RTP by its first byte (RFC 7983).
  case unknownProtocol
  /// DTLS that is too short, too long, too early or too late.
  case dtls
  /// RTP or RTCP that came before the keys.
  case beforeKeys
  /// RTP or RTCP too short or with lengths that lie.
  case malformed
  /// SRTP that does not authenticate.
  case notAuthentic
  /// SRTP that was received before or is too old to tell.
  case replayed
  /// More synchronisation sources than anybody needs.
  case tooManySources
  /// Ours: no keys, no path, or refused by a library.
  case notSent
}

/// How many packets were given up, by reason.
package struct DropCounters: Sendable, Equatable {
  private var counts = [Int](repeating: 0, count: DropReason.allCases.count)

  package subscript(reason: DropReason) -> Int { counts[reason.rawValue] }

  package var total: Int { counts.reduce(0, +) }

  mutating func count(_ reason: DropReason) { counts[reason.rawValue] &+= 1 }
}

extension DropCounters: CustomStringConvertible {
  package var description: String {
    DropReason.allCases.filter { self[$0] > 0 }.map { "\($0)=\(self[$0])" }.joined(separator: " ")
  }
}

package enum SDPError: Error, Equatable, Sendable {
  /// More bytes, lines or media than a description may have.
  case tooLarge
  /// Not `letter=value`, or a line at a place where it cannot be. Counted from 1.
  case syntax(line: Int)
  /// No `v=` at the start.
  case notADescription
  /// Not an ICE candidate (RFC 8839, 5.1).
  case candidate
}

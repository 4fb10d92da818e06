import Base

/// Keeps no more screens under way than the terminal draws.
///
/// Between us and a far terminal lie buffers that take seconds of pictures; a write returns long before they
/// are seen. So each screen ends with a question (DSR, ECMA-48 8.3.35) that the terminal answers when it has
/// drawn it. A terminal that never answers is not waited for.
struct TerminalFlow: Sendable {
  static let question = Array("\u{1B}[5n".utf8)
  static let maximumUnderWay = 2
  /// An answer may get lost.
  static let patience = Duration.seconds(2)

  private var underWay = 0
  private var hasAnswered = false
  private var last = Instant.zero

  /// Whether an answer is to be expected.
  var awaitsAnswer: Bool { hasAnswered && underWay > 0 }

  mutating func wrote(at now: Instant) {
    underWay = now >= last + Self.patience ? 1 : underWay + 1
    last = now
  }

  mutating func answered() {
    hasAnswered = true
    underWay = max(0, underWay - 1)
  }

  func mayWrite(at now: Instant) -> Bool {
    !hasAnswered || underWay < Self.maximumUnderWay || now >= last + Self.patience
  }
}

import Base

/// How long to wait before each further attempt: twice as long as before it, at most `maximum`, and up to a
/// quarter less by chance, so that those whom a server has lost all at once do not come back all at once.
package struct Backoff: Sendable {
  static let minimum: Duration = .seconds(1)
  static let maximum: Duration = .seconds(8)

  private var pause = minimum

  package init() {}

  package mutating func next(using generator: inout some RandomNumberGenerator) -> Duration {
    defer { pause = min(pause * 2, Self.maximum) }
    return pause * Double.random(in: 0.75...1, using: &generator)
  }
}

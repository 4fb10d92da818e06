import Glibc

/// Diagnostics to stderr or a file. Off the media path: a call costs a lock and a write.
/// What is logged must never hold a token or a secret.
package enum Log {
  package enum Level: Int, Comparable, Sendable {
    case error, warning, info, debug, trace

    package static func < (left: Level, right: Level) -> Bool { left.rawValue < right.rawValue }
  }

  private struct State {
    var level = Level.warning
    var descriptor: Int32? = 2
    var loss: Int32?
    /// Nobody reads just now, and is not waited for again.
    var isStuck = false
  }

  /// A terminal that was stopped holds a line up no longer.
  private static let patience: Duration = .milliseconds(100)

  private static let state = Lock(State())

  package static var level: Level { state.withLock { $0.level } }

  /// Why a line is not where it should be: the first errno since `configure`.
  package static var loss: Int32? { state.withLock { $0.loss } }

  /// - Parameter descriptor: where lines go; nil throws them away.
  package static func configure(level: Level, descriptor: Int32?) {
    state.withLock { $0 = State(level: level, descriptor: descriptor) }
  }

  package static func write(_ level: Level, _ module: String, _ message: @autoclosure () -> String) {
    let descriptor = state.withLock { level <= $0.level ? $0.descriptor : nil }
    guard let descriptor else { return }
    write("\(level) \(module): \(message())", to: descriptor)
  }

  /// What was asked for by a flag of its own, whatever the level is.
  package static func dump(_ module: String, _ text: String) {
    guard let descriptor = state.withLock({ $0.descriptor }) else { return }
    write("\(module): \(text)", to: descriptor)
  }

  private static func write(_ text: String, to descriptor: Int32) {
    let microseconds = WallClock.microseconds()
    let fraction = String(microseconds % 1_000_000 + 1_000_000).dropFirst()
    let line = "\(microseconds / 1_000_000).\(fraction) \(text)\n"
    let patience = state.withLock { $0.isStuck ? .zero : Self.patience }
    let number = DescriptorOutput.write(line, to: descriptor, patience: patience)
    state.withLock { state in
      guard state.descriptor == descriptor else { return }
      state.isStuck = number == ETIMEDOUT
      if state.loss == nil { state.loss = number }
    }
  }

  package static func error(_ module: String, _ message: @autoclosure () -> String) {
    write(.error, module, message())
  }
  package static func warning(_ module: String, _ message: @autoclosure () -> String) {
    write(.warning, module, message())
  }
  package static func info(_ module: String, _ message: @autoclosure () -> String) {
    write(.info, module, message())
  }
  package static func debug(_ module: String, _ message: @autoclosure () -> String) {
    write(.debug, module, message())
  }
}

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
    var isStructured = false
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

  /// - Parameters:
  ///   - descriptor: where lines go; nil throws them away.
  ///   - isStructured: each line is a JSON object: `time`, `level`, `module`, `message`.
  package static func configure(level: Level, descriptor: Int32?, isStructured: Bool = false) {
    state.withLock { $0 = State(level: level, descriptor: descriptor, isStructured: isStructured) }
  }

  package static func write(_ level: Level, _ module: String, _ message: @autoclosure () -> String) {
    let descriptor = state.withLock { level <= $0.level ? $0.descriptor : nil }
    guard let descriptor else { return }
    write(level, module, message(), to: descriptor)
  }

  /// What was asked for by a flag of its own, whatever the level is.
  package static func dump(_ module: String, _ text: String) {
    guard let descriptor = state.withLock({ $0.descriptor }) else { return }
    write(nil, module, text, to: descriptor)
  }

  private static func write(_ level: Level?, _ module: String, _ message: String, to descriptor: Int32) {
    let microseconds = WallClock.microseconds()
    let time = "\(microseconds / 1_000_000).\(String(microseconds % 1_000_000 + 1_000_000).dropFirst())"
    let line =
      state.withLock(\.isStructured)
      ? "{\"time\":\(time),\"level\":\"\(level ?? .info)\",\"module\":\"\(module)\",\"message\":\(quoted(message))}\n"
      : "\(time) \(level.map { "\($0) " } ?? "")\(module): \(message)\n"
    let patience = state.withLock { $0.isStuck ? .zero : Self.patience }
    let number = DescriptorOutput.write(line, to: descriptor, patience: patience)
    state.withLock { state in
      guard state.descriptor == descriptor else { return }
      state.isStuck = number == ETIMEDOUT
      if state.loss == nil { state.loss = number }
    }
  }

  /// As a JSON string (RFC 8259, 7).
  private static func quoted(_ text: String) -> String {
    var quoted = "\""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\"", "\\": quoted += "\\\(scalar)"
      case _ where scalar.value < 0x20:
        let digits = String(scalar.value, radix: 16)
        quoted += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
      default: quoted.unicodeScalars.append(scalar)
      }
    }
    return quoted + "\""
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

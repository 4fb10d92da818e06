import Base
import CommandLineKit
import Foundation

/// Where diagnostics go (`-v`, `-q`, `--log-file`).
struct LogOutput {
  let isFile: Bool
  let level: Log.Level

  init(_ arguments: Arguments) throws {
    switch arguments.count("verbose") {
    case _ where arguments.boolean("quiet"): level = .error
    case 0: level = .warning
    case 1: level = .info
    case 2: level = .debug
    default: level = .trace
    }
    var descriptor: Int32 = STDERR_FILENO
    if let path = arguments.text("log-file") {
      descriptor = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
      guard descriptor >= 0 else {
        throw Failure(.cannotWrite, "cannot write \(path): \(String(cString: strerror(errno)))")
      }
    }
    isFile = descriptor != STDERR_FILENO
    Log.configure(level: level, descriptor: descriptor)
  }

  /// The picture owns the terminal: what would go to stderr goes nowhere while it is there.
  func giveWay() {
    if !isFile { Log.configure(level: level, descriptor: nil) }
  }

  func comeBack() {
    if !isFile { Log.configure(level: level, descriptor: STDERR_FILENO) }
  }
}

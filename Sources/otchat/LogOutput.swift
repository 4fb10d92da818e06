import Base
import CommandLineKit
import Glibc

/// Where diagnostics go (`-v`, `-q`, `--log-file`).
struct LogOutput {
  let isFile: Bool
  let level: Log.Level

  /// The file, if there is one.
  private static let file = Lock<String?>(nil)

  init(_ arguments: Arguments, isStructured: Bool = false) throws {
    switch arguments.count("verbose") {
    case _ where arguments.boolean("quiet"): level = .error
    case 0: level = .warning
    case 1: level = .info
    case 2: level = .debug
    default: level = .trace
    }
    var descriptor = STDERR_FILENO
    let path = arguments.text("log-file")
    if let path {
      descriptor = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
      guard descriptor >= 0 else {
        throw Failure(lost: errno, of: path)
      }
    }
    isFile = path != nil
    Log.configure(level: level, descriptor: descriptor, isStructured: isStructured)
    Self.file.withLock { $0 = path }
    // The file has the runs of a long time. And a full disk is told before anything depends on it.
    if isFile { Log.dump("otchat", "version \(Commands.version), process \(getpid())") }
    try Self.checkWritten()
  }

  /// Throws if the file lacks something. What standard error does not take is not missed.
  static func checkWritten() throws(Failure) {
    guard let path = file.withLock({ $0 }), let number = Log.loss else { return }
    throw Failure(lost: number, of: path)
  }

  /// The picture owns the terminal: what would go to stderr goes nowhere while it is there.
  func giveWay() {
    if !isFile { Log.configure(level: level, descriptor: nil) }
  }

  func comeBack() {
    if !isFile { Log.configure(level: level, descriptor: STDERR_FILENO) }
  }
}

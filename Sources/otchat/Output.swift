import Base
import CLinux
import Glibc

/// Standard output and standard error of commands that print and end.
enum Output {
  /// Columns of the terminal, 80 elsewhere.
  static var width: Int {
    var columns: Int32 = 0
    var rows: Int32 = 0
    var pixelWidth: Int32 = 0
    var pixelHeight: Int32 = 0
    guard otchat_window_size(1, &columns, &rows, &pixelWidth, &pixelHeight), columns > 0 else { return 80 }
    return max(40, min(Int(columns), 100))
  }

  /// Why standard output did not take everything: an errno.
  private static let loss = Lock<Int32?>(nil)

  /// To standard output, whole; `checkWritten` says whether it took it.
  static func write(_ text: String) {
    if let error = DescriptorOutput.write(text, to: STDOUT_FILENO) { loss.withLock { $0 = error } }
  }

  /// Throws if something that was written is lost, on a full disk for instance. That somebody has read enough
  /// (`otchat help | head -1`) is no loss.
  static func checkWritten() throws(Failure) {
    guard let error = loss.withLock({ $0 }), error != EPIPE else { return }
    throw Failure(lost: error, of: "to standard output")
  }

  /// A line to standard error that other programs read.
  static func line(_ text: String) { tell("\(text)\n") }

  /// A line to standard error.
  static func note(_ line: String) { tell("otchat: \(line)\n") }

  /// There is nobody to be told that standard error takes nothing.
  private static func tell(_ text: String) { _ = DescriptorOutput.write(text, to: STDERR_FILENO) }
}

import Base
import CLinux
import Foundation

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

  /// Why standard output did not take everything: an errno, or 0.
  private static let loss = Lock<Int32>(0)

  /// To standard output, whole; `checkWritten` says whether it took it.
  static func write(_ text: String) {
    let error = write(text, to: 1)
    if error != 0 { loss.withLock { $0 = error } }
  }

  /// Throws if something that was written is lost, on a full disk for instance. That somebody has read enough
  /// (`otchat help | head -1`) is no loss.
  static func checkWritten() throws(Failure) {
    let error = loss.withLock { $0 }
    guard error != 0, error != EPIPE else { return }
    throw Failure(.cannotWrite, "cannot write to standard output: \(String(cString: strerror(error)))")
  }

  /// A line to standard error that other programs read.
  static func line(_ text: String) { write("\(text)\n", to: 2) }

  /// A line to standard error.
  static func note(_ line: String) { write("otchat: \(line)\n", to: 2) }

  /// An errno, or 0 once all is written.
  @discardableResult
  static func write(_ text: String, to descriptor: Int32) -> Int32 {
    var bytes = Array(text.utf8)[...]
    while !bytes.isEmpty {
      let count = bytes.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
      if count > 0 {
        bytes = bytes.dropFirst(count)
      } else if errno != EINTR {
        return errno
      }
    }
    return 0
  }
}

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

  /// To standard output, whole; a closed pipe is ignored (`otchat help | head -1`).
  static func write(_ text: String) { write(text, to: 1) }

  /// A line to standard error that other programs read.
  static func line(_ text: String) { write("\(text)\n", to: 2) }

  /// A line to standard error.
  static func note(_ line: String) { write("otchat: \(line)\n", to: 2) }

  private static func write(_ text: String, to descriptor: Int32) {
    var bytes = Array(text.utf8)[...]
    while !bytes.isEmpty {
      let count = bytes.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
      if count > 0 {
        bytes = bytes.dropFirst(count)
      } else if errno != EINTR {
        return
      }
    }
  }
}

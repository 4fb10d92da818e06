import Base
import Glibc

/// Commands as lines on a descriptor that is no terminal.
package enum CommandLines {
  /// A longer line is an error, not a reason to keep it.
  static let maximumLine = 64 * 1024

  /// Starts a thread that reads to the end.
  ///
  /// - Parameter handler: called on that thread for each line that is not blank; nil at the end of input.
  package static func read(
    from descriptor: Int32 = STDIN_FILENO,
    handler: @escaping @Sendable (Result<CallCommand, CommandLineError>?) -> Void
  ) {
    _ = MediaThread(name: "command-lines") {
      var splitter = LineSplitter(maximum: maximumLine)
      var buffer = [UInt8](repeating: 0, count: 4096)
      while true {
        let count = Glibc.read(descriptor, &buffer, buffer.count)
        if count < 0, errno == EINTR { continue }
        let lines = count > 0 ? splitter.take(buffer[..<count]) : splitter.finish()
        for line in lines {
          do throws(CommandLineError) {
            if let command = try CallCommand.parse(line: line) { handler(.success(command)) }
          } catch {
            handler(.failure(error))
          }
        }
        if count <= 0 { break }
      }
      handler(nil)
    }
  }
}

/// Cuts bytes at newlines. Text that is not UTF-8 is repaired; of a line that is too long the beginning is
/// kept.
struct LineSplitter {
  let maximum: Int
  private var pending: [UInt8] = []

  init(maximum: Int) { self.maximum = maximum }

  mutating func take(_ bytes: ArraySlice<UInt8>) -> [String] {
    var lines: [String] = []
    for byte in bytes {
      if byte == 0x0A {
        lines += finish()
      } else if pending.count < maximum {
        pending.append(byte)
      }
    }
    return lines
  }

  /// The line without a newline at the end of input.
  mutating func finish() -> [String] {
    defer { pending.removeAll(keepingCapacity: true) }
    return pending.isEmpty ? [] : [String(decoding: pending, as: UTF8.self)]
  }
}

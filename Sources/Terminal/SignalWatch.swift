import Base
import CLinux
import Glibc

/// Signals of the process as values. While one exists its signals no longer have their default action.
package final class SignalWatch: Sendable {
  private let signals: [Int32]
  private let ends: (read: Int32, write: Int32)

  /// - Parameter signals: numbers; at most one watch a signal.
  package init(_ signals: [Int32]) {
    var ends: [Int32] = [-1, -1]
    let made = otchat_pipe(&ends)
    precondition(made, "no descriptor left for a pipe")
    self.ends = (ends[0], ends[1])
    self.signals = signals
    for signal in signals { _ = otchat_watch_signal(signal, ends[1]) }
  }

  deinit {
    for signal in signals { otchat_unwatch_signal(signal) }
    close(ends.read)
    close(ends.write)
  }

  /// Readable when a signal has come.
  package var descriptor: Int32 { ends.read }

  /// The numbers of the signals that have come, without waiting.
  package func take() -> [Int32] {
    var bytes = [UInt8](repeating: 0, count: 64)
    let count = read(ends.read, &bytes, bytes.count)
    return count > 0 ? bytes[..<count].map { Int32($0) } : []
  }

  /// Makes `descriptor` readable; `take` gives a 0 for it.
  func wake() {
    var byte: UInt8 = 0
    _ = Glibc.write(ends.write, &byte, 1)
  }

  /// The signals as they come, until the process ends or the sequence is dropped.
  package static func stream(of signals: [Int32]) -> AsyncStream<Int32> {
    AsyncStream { continuation in
      let watch = SignalWatch(signals)
      let stop = StopFlag()
      continuation.onTermination = { _ in stop.set() }
      _ = MediaThread(name: "signals") {
        while !stop.isSet {
          var poll = pollfd(fd: watch.descriptor, events: Int16(POLLIN), revents: 0)
          _ = Glibc.poll(&poll, 1, 500)
          for signal in watch.take() { continuation.yield(signal) }
        }
        continuation.finish()
      }
    }
  }
}

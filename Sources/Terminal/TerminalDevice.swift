import Base
import CLinux
import Glibc

/// The size of a terminal in cells, and of a cell in pixels as far as it is known.
package struct TerminalSize: Equatable, Sendable {
  package var columns: Int
  package var rows: Int
  package var cell: CellSize?

  package init(columns: Int, rows: Int, cell: CellSize? = nil) {
    self.columns = columns
    self.rows = rows
    self.cell = cell
  }

  /// What the kernel reports. No size, or a nonsensical one, is 80x24.
  package init(columns: Int, rows: Int, pixelWidth: Int, pixelHeight: Int) {
    self.columns = (1...1000).contains(columns) ? columns : 80
    self.rows = (1...1000).contains(rows) ? rows : 24
    cell = CellSize(plausibleWidth: pixelWidth / self.columns, height: pixelHeight / self.rows)
  }

  /// A cell's height over its width; 2 if nobody knows.
  package var cellAspect: Double { cell?.aspect ?? 2 }
}

package enum TerminalError: Error, Equatable {
  /// Standard input or output is no terminal, or refuses raw mode.
  case notATerminal
  /// Another `TerminalDevice` is there.
  case busy
}

/// The terminal in raw mode on its alternate screen.
///
/// It is restored by `leave()`, on exit(3), and when the process crashes (SIGSEGV, SIGILL, SIGTRAP, …); for
/// SIGINT, SIGTERM and SIGHUP the program watches them (from before this is made) and leaves. SIGPIPE is ignored from here on: a
/// terminal that went away is an error of a write.
package final class TerminalDevice: Sendable {
  /// The descriptor keys are read from.
  let input: Int32
  /// Another open file of the terminal, non-blocking: a stopped terminal holds nobody up, and the flag does
  /// not reach the shell that shares the original.
  let output: Int32
  private let original: Int32

  static let enterBytes = "\u{1B}[?1049h\u{1B}[?7l\u{1B}[?25l\u{1B}[?2004h\u{1B}[0m\u{1B}[2J"
  /// Ends a synchronized update that may be open, and undoes `enterBytes` in reverse.
  static let leaveBytes = "\u{1B}[?2026l\u{1B}[0m\u{1B}[?2004l\u{1B}[?25h\u{1B}[?7h\u{1B}[?1049l"

  package init(input: Int32 = STDIN_FILENO, output: Int32 = STDOUT_FILENO) throws(TerminalError) {
    guard isatty(input) == 1, isatty(output) == 1 else { throw .notATerminal }
    self.input = input
    original = output
    let reopened = otchat_reopen_terminal(output)
    // Without one of our own (another user's terminal) writes may block, which only the writer feels.
    self.output = reopened >= 0 ? reopened : dup(output)
    signal(SIGPIPE, SIG_IGN)
    guard otchat_terminal_enter(input, self.output, Self.leaveBytes) else {
      close(self.output)
      throw .busy
    }
    _ = write(Array(Self.enterBytes.utf8)[...], until: MonotonicClock.now() + .seconds(1))
  }

  deinit {
    otchat_terminal_leave()
    close(output)
  }

  /// Puts everything back. Any thread, any number of times.
  package func leave() { otchat_terminal_leave() }

  /// The shell's turn, until it lets the job go on. Blocks meanwhile.
  func suspend() { _ = otchat_terminal_suspend(Self.enterBytes) }

  /// Raw mode and the alternate screen again, after the process was stopped and continued.
  func resume() { _ = otchat_terminal_resume(Self.enterBytes) }

  package var size: TerminalSize {
    var (columns, rows, width, height): (Int32, Int32, Int32, Int32) = (0, 0, 0, 0)
    _ = otchat_window_size(original, &columns, &rows, &width, &height)
    return TerminalSize(
      columns: Int(columns), rows: Int(rows), pixelWidth: Int(width), pixelHeight: Int(height))
  }

  /// What became of a write.
  enum Written: Equatable {
    case all
    /// Time was up; so many bytes went out.
    case partly(Int)
    /// The terminal is gone, or was given back.
    case closed
  }

  /// Writes as fast as the terminal takes it.
  func write(_ bytes: ArraySlice<UInt8>, until deadline: Instant) -> Written {
    var rest = bytes
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { otchat_terminal_write($0.baseAddress, $0.count) }
      if count > 0 {
        rest = rest.dropFirst(count)
      } else if count < 0, errno == EAGAIN {
        let left = (deadline - MonotonicClock.now()).nanoseconds / 1_000_000
        guard left > 0 else { return .partly(bytes.count - rest.count) }
        var poll = pollfd(fd: output, events: Int16(POLLOUT), revents: 0)
        _ = Glibc.poll(&poll, 1, Int32(clamping: left))
      } else if count == 0 || errno != EINTR {
        return .closed
      }
    }
    return .all
  }
}

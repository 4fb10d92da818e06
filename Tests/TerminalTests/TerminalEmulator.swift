import Base
import Foundation

/// The emulator's side of a terminal: it reads and answers on a thread of its own, as promptly as a real one,
/// whatever keeps the tests' threads busy.
final class TerminalEmulator: Sendable {
  private struct State {
    var master: Int32
    var output = ""
    /// What was asked and not answered yet: a question may come in two pieces.
    var asked = ""
    var answers: [String: String]
    var isReading = true
    var isAtEnd = false
  }

  private let state: Lock<State>

  init(master: Int32, answers: [String: String]) {
    state = Lock(State(master: master, answers: answers))
    Thread.detachNewThread { [weak self] in
      // Ends when the emulator is gone or the terminal closed.
      while let descriptor = self?.descriptor, descriptor >= 0 {
        var poll = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        _ = Glibc.poll(&poll, 1, 10)
        guard let self else { return }
        // At the end, and while it is not to read, poll returns at once.
        if !pump() || poll.revents & Int16(POLLHUP) != 0 { usleep(2000) }
      }
    }
  }

  deinit { close() }

  private var descriptor: Int32 { state.withLock { $0.master } }
  var output: String { state.withLock { $0.output } }
  /// Nobody has the terminal open any more, and all was read.
  var isAtEnd: Bool { state.withLock { $0.isAtEnd } }
  var isReading: Bool {
    get { state.withLock { $0.isReading } }
    set { state.withLock { $0.isReading = newValue } }
  }

  /// Forgets the output so far.
  func clear() { state.withLock { $0.output = "" } }

  func close() {
    state.withLock { state in
      if state.master >= 0 { _ = Glibc.close(state.master) }
      state.master = -1
    }
  }

  func type(_ text: String) { state.withLock { _ = write($0.master, text, text.utf8.count) } }

  /// - Parameter body: gets the descriptor, -1 after `close()`.
  func withDescriptor<Result: Sendable>(_ body: (Int32) -> Result) -> Result {
    state.withLock { body($0.master) }
  }

  /// Reads what is there, and answers it. False if nothing was to be read.
  private func pump() -> Bool {
    state.withLock { state in
      guard state.isReading, state.master >= 0 else { return false }
      var bytes: [UInt8] = []
      var buffer = [UInt8](repeating: 0, count: 65536)
      while true {
        let count = read(state.master, &buffer, buffer.count)
        if count < 0 { state.isAtEnd = errno == EIO }
        guard count > 0 else { break }
        bytes += buffer[..<count]
      }
      guard !bytes.isEmpty else { return false }
      let text = String(decoding: bytes, as: UTF8.self)
      state.output += text
      state.asked += text
      for (question, answer) in state.answers {
        for _ in 0..<state.asked.components(separatedBy: question).count - 1 {
          _ = write(state.master, answer, answer.utf8.count)
        }
        state.asked = state.asked.replacing(question, with: "")
      }
      state.asked = String(state.asked.suffix(64))
      return true
    }
  }
}

import Base
import Foundation
import TestSupport
import Testing

@testable import Terminal

/// A program on a terminal of its own.
final class PseudoTerminal {
  private let emulator: TerminalEmulator
  private let process: pid_t
  private var exit: Int32?
  private let initial: termios

  /// TIOCSPTLCK, TIOCGPTN, POSIX_SPAWN_SETSID.
  private static let setLock: UInt = 0x4004_5431
  private static let getNumber: UInt = 0x8004_5430
  private static let newSession: Int16 = 0x80

  /// Starts `terminal-probe`.
  ///
  /// - Parameter answers: what the emulator says to which questions, besides that it has drawn everything.
  init(
    _ arguments: [String], environment: [String: String], answers: [String: String] = [:], columns: Int = 80,
    rows: Int = 24
  ) throws {
    let master = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC)
    let name = try Self.unlock(master)
    initial = try Self.attributes(of: master)
    Self.setSize(of: master, columns, rows)
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    // The first terminal that a session leader opens is its controlling one.
    posix_spawn_file_actions_addopen(&actions, 0, name, O_RDWR, 0)
    posix_spawn_file_actions_adddup2(&actions, 0, 1)
    posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0)
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    posix_spawnattr_setflags(&attributes, Self.newSession)
    let path = Bundle.module.bundleURL.deletingLastPathComponent().appending(path: "terminal-probe").path
    var words = ([path] + arguments).map { strdup($0) } + [nil]
    var variables = environment.map { strdup("\($0.key)=\($0.value)") } + [nil]
    defer {
      for word in words + variables { free(word) }
      posix_spawnattr_destroy(&attributes)
      posix_spawn_file_actions_destroy(&actions)
    }
    var process: pid_t = 0
    let status = posix_spawn(&process, path, &actions, &attributes, &words, &variables)
    self.process = process
    _ = fcntl(master, F_SETFL, O_NONBLOCK)
    emulator = TerminalEmulator(
      master: master, answers: answers.merging(["\u{1B}[5n": "\u{1B}[0n"]) { given, _ in given })
    try #require(status == 0, "cannot start \(path)")
  }

  deinit {
    // Whoever lost its window has to end by itself.
    if exit == nil, emulator.withDescriptor({ $0 >= 0 }) {
      kill(process, SIGKILL)
      waitpid(process, nil, 0)
    }
    emulator.close()
  }

  var output: String { emulator.output }
  /// Whether the emulator reads and answers questions.
  var isReading: Bool {
    get { emulator.isReading }
    set { emulator.isReading = newValue }
  }

  /// The name of the terminal behind `master`: unlockpt(3) and ptsname(3), which Glibc's module hides.
  private static func unlock(_ master: Int32) throws -> String {
    var (locked, number): (Int32, Int32) = (0, -1)
    try #require(ioctl(master, setLock, &locked) == 0 && ioctl(master, getNumber, &number) == 0)
    return "/dev/pts/\(number)"
  }

  /// The terminal behind `master`, which does not become the one of this process.
  static func openOther(of master: Int32) throws -> Int32 {
    let terminal = open(try unlock(master), O_RDWR | O_NOCTTY | O_CLOEXEC)
    try #require(terminal >= 0)
    return terminal
  }

  private static func attributes(of descriptor: Int32) throws -> termios {
    var attributes = termios()
    try #require(tcgetattr(descriptor, &attributes) == 0)
    return attributes
  }

  private static func setSize(of descriptor: Int32, _ columns: Int, _ rows: Int) {
    var size = winsize(ws_row: UInt16(rows), ws_col: UInt16(columns), ws_xpixel: 0, ws_ypixel: 0)
    _ = ioctl(descriptor, UInt(TIOCSWINSZ), &size)
  }

  func resize(columns: Int, rows: Int) { emulator.withDescriptor { Self.setSize(of: $0, columns, rows) } }

  func type(_ text: String) { emulator.type(text) }

  func send(signal: Int32) { kill(process, signal) }

  /// The window is closed: the program gets SIGHUP, and errors from there on.
  func closeWindow() { emulator.close() }

  private var attributes: termios? { emulator.withDescriptor { try? Self.attributes(of: $0) } }

  /// Whether the attributes are those from before the program was started.
  var isRestored: Bool {
    guard let now = attributes else { return false }
    return now.c_lflag == initial.c_lflag && now.c_iflag == initial.c_iflag && now.c_oflag == initial.c_oflag
  }

  /// Whether the program's last words gave the terminal back. What this end answers too late, on a busy
  /// machine, is echoed behind them.
  var wasGivenBack: Bool {
    guard let leave = output.range(of: TerminalDevice.leaveBytes, options: .backwards) else { return false }
    let echo = output[leave.upperBound...]
    return echo.isEmpty || (echo.hasPrefix("^[") && !echo.contains("\u{1B}"))
  }

  var isRaw: Bool { attributes.map { $0.c_lflag & tcflag_t(ICANON | ECHO | ISIG) } == 0 }

  /// Forgets the output so far.
  func clear() { emulator.clear() }

  func wait(for what: String, within limit: Duration = .seconds(180), _ condition: (PseudoTerminal) -> Bool)
    async throws
  {
    try await eventually(within: limit, what, state: { String(self.output.suffix(400)).debugDescription }) {
      condition(self)
    }
  }

  /// The exit status as a shell gives it: 128 + signal if one ended it.
  func waitForExit(within limit: Duration = .seconds(180)) async throws -> Int32 {
    try await wait(for: "exit", within: limit) { terminal in
      var status: Int32 = 0
      guard waitpid(terminal.process, &status, WNOHANG) == terminal.process else { return false }
      terminal.exit = status & 0x7F == 0 ? status >> 8 & 0xFF : 128 + (status & 0x7F)
      return true
    }
    // The last words may still be on their way through the kernel.
    if isReading, emulator.withDescriptor({ $0 >= 0 }) {
      try await eventually("the end of the output") { emulator.isAtEnd }
    }
    return exit ?? -1
  }
}

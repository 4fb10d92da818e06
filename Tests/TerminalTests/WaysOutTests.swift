import Base
import Foundation
import TestSupport
import Testing

@testable import Terminal

/// `terminal-probe` on a real pseudo-terminal.
@Suite(.serialized) struct WaysOutTests {
  private static let environment = [
    "TERM": "xterm-256color", "COLORTERM": "truecolor", "LANG": "C.UTF-8", "SWIFT_BACKTRACE": "enable=no",
    "ASAN_OPTIONS": sanitizerOptions("ASAN_OPTIONS"), "TSAN_OPTIONS": sanitizerOptions("TSAN_OPTIONS"),
  ]
  /// Crashes are the point here, so a sanitizer must not catch them; nor wait a second at exit, in which the
  /// other threads find the terminal gone and end the program with another status.
  private static func sanitizerOptions(_ name: String) -> String {
    "\(ProcessInfo.processInfo.environment[name] ?? ""):\(noHandlers):detect_leaks=0:atexit_sleep_ms=0"
  }
  private static let noHandlers =
    "handle_segv=0:handle_abort=0:handle_sigill=0:handle_sigbus=0:handle_sigfpe=0:handle_sigtrap=0"
  private let log = FileManager.default.temporaryDirectory.appending(path: "probe-\(UUID().uuidString).log")

  private func start(
    _ mode: String = "call", environment: [String: String] = environment, columns: Int = 80, rows: Int = 24
  ) async throws -> PseudoTerminal {
    let terminal = try PseudoTerminal(
      [log.path, mode], environment: environment, columns: columns, rows: rows)
    try await terminal.wait(for: "first picture") { $0.output.contains("\u{1B}[?2026l") }
    return terminal
  }

  private var logged: [String] {
    ((try? String(contentsOf: log, encoding: .utf8)) ?? "").split(separator: "\n").map(String.init)
  }

  private func expectRestored(_ terminal: PseudoTerminal, sourceLocation: SourceLocation = #_sourceLocation) {
    #expect(terminal.isRestored, "attributes", sourceLocation: sourceLocation)
    #expect(
      terminal.wasGivenBack, "\(String(terminal.output.suffix(80)).debugDescription)",
      sourceLocation: sourceLocation)
    #expect(
      terminal.output.components(separatedBy: "\u{1B}[?1049l").count == 2, "left once",
      sourceLocation: sourceLocation)
  }

  @Test func terminalIsRawWhileTheCallIsOnAndKeysAreCommands() async throws {
    let terminal = try await start()
    #expect(terminal.isRaw)
    #expect(terminal.output.contains(TerminalDevice.enterBytes))
    terminal.type("m")
    try await terminal.wait(for: "mute") { $0.output.contains("off") }
    terminal.type("thé猫\u{1B}[D\u{7F}\r")
    try await eventually("chat line", state: { logged.joined(separator: ",") }) {
      return logged.contains("say(\"h猫\")")
    }
    terminal.type("q")
    #expect(try await terminal.waitForExit() == 0)
    #expect(logged.first == "microphone(Terminal.CallCommand.Switch.toggle)")
    expectRestored(terminal)
  }

  @Test func controlCLeaves() async throws {
    let terminal = try await start()
    terminal.type("t\u{3}")
    #expect(try await terminal.waitForExit() == 0)
    expectRestored(terminal)
  }

  /// The probe is no shell's job, so nothing stops it: it gives the terminal back and takes it again.
  @Test func controlZGivesTheTerminalBackForAWhile() async throws {
    let terminal = try await start()
    terminal.clear()
    terminal.type("\u{1A}")
    try await terminal.wait(for: "the screen again") {
      guard let left = $0.output.range(of: TerminalDevice.leaveBytes) else { return false }
      let since = $0.output[left.upperBound...]
      return since.contains(TerminalDevice.enterBytes) && since.hasSuffix("\u{1B}[5n")
    }
    // Whoever was about to draw has waited for the screen to draw on.
    let parts = terminal.output.components(separatedBy: TerminalDevice.leaveBytes)
    #expect(parts.count == 2 && parts.last?.hasPrefix(TerminalDevice.enterBytes) == true)
    #expect(terminal.isRaw)
    terminal.clear()
    try await terminal.wait(for: "picture goes on") { $0.output.contains("\u{1B}[?2026l") }
    terminal.type("q")
    #expect(try await terminal.waitForExit() == 0)
    expectRestored(terminal)
  }

  @Test(arguments: [SIGTERM: 143, SIGINT: 130, SIGHUP: 129] as [Int32: Int32])
  func signalsLeave(signal: Int32, status: Int32) async throws {
    let terminal = try await start()
    terminal.send(signal: signal)
    #expect(try await terminal.waitForExit() == status)
    #expect(logged.last == "left \(status)")
    expectRestored(terminal)
  }

  @Test(arguments: ["segv": SIGSEGV, "null": SIGSEGV, "trap": SIGILL, "abort": SIGABRT] as [String: Int32])
  func crashesRestoreAndStayCrashes(mode: String, signal: Int32) async throws {
    let terminal = try await start(mode)
    let status = try await terminal.waitForExit()
    // A trap is SIGILL or SIGTRAP by architecture.
    #expect(status == 128 + signal || (mode == "trap" && status == 128 + SIGTRAP), "\(mode): \(status)")
    #expect(terminal.isRestored)
    #expect(terminal.output.contains(TerminalDevice.leaveBytes))
  }

  @Test func exitRestores() async throws {
    let terminal = try await start("exit")
    #expect(try await terminal.waitForExit() == 3)
    #expect(terminal.isRestored)
    #expect(terminal.output.contains(TerminalDevice.leaveBytes))
  }

  @Test func sizesFromOneCellToManyAndBack() async throws {
    let terminal = try await start()
    for (columns, rows) in [(40, 10), (1, 1), (3, 2), (200, 60), (80, 24)] {
      terminal.clear()
      terminal.resize(columns: columns, rows: rows)
      // A whole screen is drawn anew, and nothing outside it.
      try await terminal.wait(for: "\(columns)x\(rows)") {
        $0.output.contains("\u{1B}[2J") && $0.output.hasSuffix("\u{1B}[5n")
      }
      let drawn = terminal.output[
        (terminal.output.range(of: "\u{1B}[2J")?.lowerBound ?? terminal.output.startIndex)...]
      for place in drawn.matches(of: /\x1B\[(\d+);(\d+)H/) {
        #expect((Int(place.1) ?? 0) <= rows && (Int(place.2) ?? 0) <= columns)
      }
    }
    terminal.clear()
    try await terminal.wait(for: "picture goes on") { $0.output.contains("\u{1B}[?2026l") }
    terminal.type("q")
    #expect(try await terminal.waitForExit() == 0)
    expectRestored(terminal)
  }

  @Test func noColorMeansNone() async throws {
    var environment = Self.environment
    environment["NO_COLOR"] = "1"
    let terminal = try await start(environment: environment)
    try await terminal.wait(for: "pictures") { $0.output.components(separatedBy: "\u{1B}[?2026l").count > 5 }
    terminal.type("q")
    #expect(try await terminal.waitForExit() == 0)
    for style in terminal.output.matches(of: /\x1B\[([0-9;]*)m/) {
      #expect(["0", "0;1", "0;7", "0;1;7"].contains(String(style.1)), "\(style.1)")
    }
    #expect(terminal.output.contains("█") || terminal.output.contains("▀"))
  }

  @Test func langCMeansAscii() async throws {
    var environment = Self.environment
    environment["LANG"] = "C"
    let terminal = try await start(environment: environment)
    try await terminal.wait(for: "pictures") { $0.output.components(separatedBy: "\u{1B}[?2026l").count > 5 }
    terminal.type("q")
    #expect(try await terminal.waitForExit() == 0)
    #expect(terminal.output.utf8.allSatisfy { $0 < 0x80 })
    #expect(terminal.output.contains("hello ]0;evilthere"))
    #expect(terminal.output.contains("mic on - cam on"))
  }

  @Test func terminalThatDoesNotReadHoldsNobodyUp() async throws {
    let terminal = try await start("counting")
    terminal.isReading = false
    // Many pictures go by; each is put down at once, and only the newest is kept.
    let before = logged.count
    try await eventually("thirty pictures") { logged.count >= before + 3 }
    terminal.send(signal: SIGTERM)
    var left = false
    try await eventually("left", state: { logged.joined(separator: ",") }) {
      left = logged.last == "left 143"
      return left
    }
    let counts = try #require(logged.last { $0.hasPrefix("drawn") }).split(separator: " ").compactMap {
      Int($0)
    }
    #expect(counts[1] > 10, "dropped \(counts)")
    terminal.isReading = true
    #expect(try await terminal.waitForExit() == 143)
    #expect(terminal.isRestored)
  }

  @Test func terminalThatGoesAwayEndsTheCall() async throws {
    var terminal: PseudoTerminal? = try await start()
    terminal?.closeWindow()
    terminal = nil
    try await eventually("left", state: { logged.joined(separator: ",") }) {
      logged.last == "left 129" || logged.last == "left 0"
    }
  }

  @Test func nothingIsDrawnOnAScreenThatWasGivenBack() async throws {
    let master = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK)
    defer { close(master) }
    let terminal = try PseudoTerminal.openOther(of: master)
    defer { close(terminal) }
    let device = try TerminalDevice(input: terminal, output: terminal)
    let soon = MonotonicClock.now() + .seconds(60)
    #expect(device.write(Array("one".utf8)[...], until: soon) == .all)
    device.leave()
    #expect(device.write(Array("two".utf8)[...], until: soon) == .closed)
    let drawn = TerminalDevice.enterBytes + "one" + TerminalDevice.leaveBytes
    var output = ""
    try await eventually("what was written comes through", state: { output.debugDescription }) {
      var buffer = [UInt8](repeating: 0, count: 4096)
      let count = read(master, &buffer, buffer.count)
      output += String(decoding: buffer[..<max(0, count)], as: UTF8.self)
      return output.utf8.count >= drawn.utf8.count
    }
    #expect(output == drawn)
  }

  @Test func withoutATerminalThereIsNoDisplay() {
    var ends: [Int32] = [0, 0]
    #expect(pipe(&ends) == 0)
    #expect(throws: TerminalError.notATerminal) { try TerminalDevice(input: ends[0], output: ends[1]) }
    close(ends[0])
    close(ends[1])
  }
}

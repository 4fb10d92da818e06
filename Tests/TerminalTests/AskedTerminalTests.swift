import Foundation
import TestSupport
import Testing

@testable import Terminal

/// `terminal-probe` on terminals that say what they can do.
@Suite(.serialized) struct AskedTerminalTests {
  private static let environment = [
    "TERM": "xterm-256color", "COLORTERM": "truecolor", "LANG": "C.UTF-8", "SWIFT_BACKTRACE": "enable=no",
  ]
  private let log = FileManager.default.temporaryDirectory.appending(path: "asked-\(UUID().uuidString).log")

  private func start(
    _ mode: String = "call", answers: [String: String] = [:], environment: [String: String] = environment,
    columns: Int = 40, rows: Int = 12
  ) throws -> PseudoTerminal {
    let terminal = try PseudoTerminal(
      [log.path, mode], environment: environment, answers: answers, columns: columns, rows: rows)
    return terminal
  }

  private func leave(_ terminal: PseudoTerminal) async throws {
    terminal.type("q")
    #expect(try await terminal.waitForExit() == 0)
    #expect(terminal.isRestored)
    #expect(terminal.wasGivenBack)
  }

  private var commands: [String] {
    ((try? String(contentsOf: log, encoding: .utf8)) ?? "").split(separator: "\n").map(String.init)
  }

  @Test func kittyGraphicsAreDrawnWhereTheyAreKnown() async throws {
    let terminal = try start(answers: [
      KittyGraphics.question: "\u{1B}_Gi=31;OK\u{1B}\\", "\u{1B}[c": "\u{1B}[?62;4c",
      "\u{1B}[16t": "\u{1B}[6;20;10t",
    ])
    try await terminal.wait(for: "pictures") { $0.output.components(separatedBy: "Ga=d,d=I").count > 5 }
    try await leave(terminal)
    // A terminal that answers late (a busy machine) has had symbols before.
    let first = try #require(terminal.output.range(of: "_Ga=T"))
    let hasSymbols = terminal.output[first.lowerBound...].contains("38;2;")
    #expect(!hasSymbols)
    // What the terminal keeps: a new picture stands beside the one that it replaces for a moment.
    var kept: Set<String> = []
    var most = 0
    for command in terminal.output.matches(of: /_Ga=(?:T[^;]*,i=(\d+)|d,d=I,i=(\d+)|d,d=A)/) {
      if let drawn = command.1 {
        kept.insert(String(drawn))
      } else if let deleted = command.2 {
        kept.remove(String(deleted))
      } else {
        kept = []
      }
      most = max(most, kept.count)
    }
    #expect((1...3).contains(most))
    #expect(kept.isEmpty, "what is left is deleted at the end")
  }

  @Test func sixelsAreDrawnWhereTheyAreKnown() async throws {
    let terminal = try start(answers: ["\u{1B}[c": "\u{1B}[?62;4;22c", "\u{1B}[16t": "\u{1B}[6;16;8t"])
    try await terminal.wait(for: "pictures") { $0.output.components(separatedBy: "\u{1B}P0;1;0q").count > 5 }
    // 320x240 in 40x11 cells of 8x16.
    #expect(terminal.output.contains("q\"1;1;232;176"))
    try await leave(terminal)
    #expect(!terminal.output.contains("Ga=T"))
  }

  @Test func keysBetweenTheAnswersAreKeys() async throws {
    let terminal = try start(answers: [
      "\u{1B}[c": "m\u{1B}[?62;22cm", "\u{1B}[>q": "m\u{1B}P>|x(1)\u{1B}\\m",
    ])
    try await eventually("four commands", state: { commands.joined(separator: ",") }) {
      return commands.filter { $0.hasPrefix("microphone") }.count == 4
    }
    try await terminal.wait(for: "symbols") { $0.output.contains("38;2;") }
    try await leave(terminal)
  }

  @Test func aLateAnswerChangesTheWayOfDrawing() async throws {
    let terminal = try start()
    try await terminal.wait(for: "symbols") { $0.output.contains("38;2;") }
    terminal.type("\u{1B}[?62;4c")
    try await terminal.wait(for: "sixels") { $0.output.contains("\u{1B}P0;1;0q") }
    try await leave(terminal)
  }

  @Test func multiplexersAreNotAskedForWhatTheyDoNotPassOn() async throws {
    var environment = Self.environment
    environment["TMUX"] = "/tmp/tmux-0/default,1,0"
    let terminal = try start(answers: ["\u{1B}[c": "\u{1B}[?1;2c"], environment: environment)
    try await terminal.wait(for: "symbols") { $0.output.contains("38;2;") }
    try await leave(terminal)
    #expect(!terminal.output.contains("\u{1B}_"))
  }

  @Test func aPortraitKeepsItsShapeInEveryWindow() async throws {
    let terminal = try start("portrait")
    for (columns, rows) in [(80, 24), (40, 30), (120, 20), (50, 50)] {
      terminal.clear()
      terminal.resize(columns: columns, rows: rows)
      try await terminal.wait(for: "\(columns)x\(rows)") {
        $0.output.contains("\u{1B}[2J") && $0.output.hasSuffix("\u{1B}[5n")
      }
      var emulated = EmulatedTerminal(columns: columns, rows: rows)
      emulated.take(
        String(terminal.output[(try #require(terminal.output.ranges(of: "\u{1B}[2J").last)).lowerBound...]))
      // 180x320 in square pixels, two of which are as high as a cell.
      let area = CellRectangle(column: 0, row: 0, columns: columns, rows: rows - 1)
      let place = PictureRenderer.fit(width: 180, height: 320, in: area, cellAspect: 2)
      let painted = emulated.cells[rows / 2].map { $0.style.contains { $0.contains("8;2;") } }
      #expect(painted.firstIndex(of: true) == place.column, "\(columns)x\(rows)")
      #expect(painted.lastIndex(of: true) == place.column + place.columns - 1, "\(columns)x\(rows)")
      let shape = Double(place.columns) / (2 * Double(place.rows))
      #expect(abs(shape - 0.5625) < 0.03, "\(columns)x\(rows)")
    }
    try await leave(terminal)
  }
}

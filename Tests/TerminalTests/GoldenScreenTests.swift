import Base
import Codecs
import Foundation
import TestSupport
import Testing

@testable import Terminal

/// One screen of a call in every way it can be drawn, byte for byte as it was looked at and found good.
/// `OTCHAT_WRITE_FIXTURES=1` writes them anew, to be looked at again: `printf '%b' "$(cat FILE)"`.
struct GoldenScreenTests {
  struct Way: CustomTestStringConvertible {
    let name: String
    let style: PictureStyle
    let colors: ColorDepth
    var unicode = true

    var testDescription: String { name }
  }

  static let ways = [
    Way(name: "symbols-24bit", style: .symbols, colors: .trueColor),
    Way(name: "symbols-256", style: .symbols, colors: .palette256),
    Way(name: "symbols-16", style: .symbols, colors: .palette16),
    Way(name: "symbols-no-color", style: .symbols, colors: .none),
    Way(name: "ascii-16", style: .ascii, colors: .palette16, unicode: false),
    Way(name: "ascii-no-color", style: .ascii, colors: .none, unicode: false),
    Way(name: "kitty", style: .kitty, colors: .trueColor),
    Way(name: "sixel", style: .sixel, colors: .palette256),
    Way(name: "iterm2", style: .iterm2, colors: .trueColor),
  ]

  private var state: CallState {
    var state = CallState(ownName: "Ada")
    let events: [CallEvent] = [
      .connection(.connected),
      .subscriberAdded(CallSubscriber(streamID: "b", name: "Béla 猫", hasAudio: false)),
      .statistics(CallStatistics(received: ["b": CallFlow(width: 64, height: 48, framesPerSecond: 30)])),
      .chat(from: "Béla 猫", text: "szia…", isOwn: false),
    ]
    for event in events { _ = state.update(event, at: .zero) }
    return state
  }

  private func bytes(_ way: Way) -> String {
    var painter = PicturePainter(
      profile: .init(style: way.style, colors: way.colors, cell: CellSize(width: 4, height: 8)),
      capabilities: TerminalCapabilities(colors: way.colors, unicode: way.unicode))
    let bytes = painter.paint(
      state.view(columns: 40, rows: 9), [.stream("b"): (TestFrame.card, true)], filter: .none)
    return String(decoding: bytes, as: UTF8.self)
  }

  @Test(arguments: ways) func screen(way: Way) throws {
    let drawn = bytes(way).replacing("\u{1B}", with: "\\e").replacing("\\e\\\\", with: "\\e\\\\\\\\")
    if ProcessInfo.processInfo.environment["OTCHAT_WRITE_FIXTURES"] != nil {
      let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appending(path: "Fixtures")
      try drawn.write(to: folder.appending(path: "screen-\(way.name).txt"), atomically: true, encoding: .utf8)
      return
    }
    let url = try #require(
      Bundle.module.url(forResource: "screen-\(way.name)", withExtension: "txt", subdirectory: "Fixtures"))
    let golden = try String(contentsOf: url, encoding: .utf8)
    let same = zip(drawn.utf8, golden.utf8).prefix { $0 == $1 }.count
    #expect(drawn == golden, "differs from byte \(same) on: \(drawn.utf8.dropFirst(same).prefix(80))")
  }

  /// Whatever the way, a terminal shows the same text around the picture.
  @Test(arguments: ways) func textIsTheSame(way: Way) {
    var terminal = EmulatedTerminal(columns: 40, rows: 9)
    terminal.take(bytes(way))
    let lines = terminal.text.split(separator: "\n")
    let chat = way.unicode ? " Béla 猫: szia…" : " B?la ??: szia~"
    let status =
      way.unicode ? " Ada · mic on · cam on │ Béla 猫 · muted" : " Ada - mic on - cam on | B?la ?? - muted"
    #expect(lines.contains { $0.hasPrefix(chat) }, "\(terminal.text)")
    #expect(lines.last.map(String.init) == status, "\(terminal.text)")
    if !way.unicode { #expect(bytes(way).utf8.allSatisfy { $0 < 0x80 }) }
    if way.colors == .none { #expect(!bytes(way).contains(/\x1B\[[0-9;]*[34]8;/)) }
  }

  /// Changes drawn one after another look like the last screen drawn at once.
  @Test func changesAddUpToTheWhole() {
    var generator = SeededGenerator(seed: 11)
    let capabilities = TerminalCapabilities(colors: .trueColor, unicode: true)
    let profile = PicturePainter.Profile(style: .symbols, colors: .trueColor)
    var painter = PicturePainter(profile: profile, capabilities: capabilities)
    var state = state
    var terminal = EmulatedTerminal(columns: 40, rows: 12)
    for step in 1...60 {
      let events: [CallEvent] = [
        .notice("step \(step)"), .key(.character("i")), .key(.character("?")), .microphone(step % 2 == 0),
        .chat(from: "é", text: String(repeating: "猫x", count: step % 9), isOwn: step % 3 == 0),
        .subscriberAdded(CallSubscriber(streamID: "\(step % 4)", name: "n\(step)")),
        .subscriberRemoved(streamID: "\(step % 4)"), .key(.pageUp), .key(.tab), .key(.enter),
      ]
      let event = events[Int.random(in: 0..<events.count, using: &generator)]
      _ = state.update(event, at: .zero + .seconds(step))
      let frame = TestFrame.make(32, 24) { column, row in
        (UInt8(truncatingIfNeeded: column * step + row * 7), UInt8(100 + row), UInt8(100 + column))
      }
      let screen = state.view(columns: 40, rows: 12)
      let pictures = Dictionary(
        screen.pictures.map { ($0.source, (frame: frame, isNew: true)) },
        uniquingKeysWith: { first, _ in first })
      terminal.take(String(decoding: painter.paint(screen, pictures, filter: .none), as: UTF8.self))
      var once = PicturePainter(profile: profile, capabilities: capabilities)
      var whole = EmulatedTerminal(columns: 40, rows: 12)
      whole.take(String(decoding: once.paint(screen, pictures, filter: .none), as: UTF8.self))
      #expect(terminal.text == whole.text, "step \(step)")
    }
  }
}

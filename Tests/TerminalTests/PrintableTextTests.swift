import Testing

@testable import Terminal

struct PrintableTextTests {
  private func text(_ text: String) -> String { PrintableText.glyphs(of: text).map(\.text).joined() }

  @Test func nothingThatControlsATerminalComesThrough() {
    #expect(text("a\u{1B}[2J\u{1B}]0;x\u{7}b") == "a[2J]0;xb")
    #expect(text("\u{9B}31mred\u{9D}0;x\u{9C}") == "31mred0;x")
    #expect(text("one\ntwo\r\tthree\u{8}\u{7F}\u{0}") == "one two three")
    #expect(text("safe\u{202E}drawrof\u{2066}x\u{200F}\u{FEFF}") == "safedrawrofx")
    #expect(text("a\u{2028}b\u{2029}c\u{E000}d\u{10FFFF}e") == "abcde")
    for value in UInt32(0)...0x10FFFF {
      guard let scalar = Unicode.Scalar(value), value < 0x3000 || value % 251 == 0 else { continue }
      let output = text(String(Character(scalar))).unicodeScalars
      #expect(output.allSatisfy { $0.value >= 0x20 && !(0x7F...0x9F).contains($0.value) }, "\(value)")
    }
  }

  @Test(
    arguments: [
      ("plain", 5), ("Béla", 4), ("e\u{301}", 1), ("猫", 2), ("日本語", 6), ("한국", 4), ("🙂", 2), ("👨‍👩‍👧", 2),
      ("👍🏽", 2),
      ("🇩🇪", 2), ("❤️", 1), ("ｱ", 1), ("Ａ", 2), ("x\u{200B}y", 2), ("العربية", 7), ("ไทย", 3), ("", 0),
      ("…", 1),
      ("\u{301}", 1),
    ])
  func columns(text: String, width: Int) {
    #expect(PrintableText.width(of: text) == width)
  }

  @Test func pilesOfMarksAreCutDown() {
    let glyphs = PrintableText.glyphs(of: "Z" + String(repeating: "\u{30D}", count: 500) + "y")
    #expect(glyphs.map(\.text.unicodeScalars.count) == [3, 1])
    #expect(glyphs.map(\.width) == [1, 1])
  }

  @Test func truncationCountsColumns() {
    #expect(PrintableText.truncated("hello", to: 5) == "hello")
    #expect(PrintableText.truncated("hello", to: 4) == "hel…")
    #expect(PrintableText.truncated("日本語", to: 4) == "日…")
    #expect(PrintableText.truncated("日本語", to: 1) == "…")
    #expect(PrintableText.truncated("hello", to: 0) == "")
  }

  @Test func wrappingBreaksAtSpacesAndLosesNothing() {
    #expect(PrintableText.wrapped("the quick brown fox", to: 10, limit: 9) == ["the quick", "brown fox"])
    #expect(
      PrintableText.wrapped("https://example.org/x", to: 10, limit: 9) == ["https://ex", "ample.org/", "x"])
    #expect(PrintableText.wrapped("日本語", to: 4, limit: 9) == ["日本", "語"])
    #expect(PrintableText.wrapped("a b c d e", to: 2, limit: 2).count == 2)
    #expect(PrintableText.wrapped("", to: 4, limit: 9) == [""])
  }
}

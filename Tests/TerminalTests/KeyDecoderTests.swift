import Base
import TestSupport
import Testing

@testable import Terminal

struct KeyDecoderTests {
  private func keys(_ text: String) -> [Key] {
    var decoder = KeyDecoder()
    return decoder.decode(Array(text.utf8), at: .zero)
  }

  @Test func plainKeys() {
    #expect(keys("mq?") == [.character("m"), .character("q"), .character("?")])
    #expect(keys("\r\n\t\u{7F}\u{8}") == [.enter, .enter, .tab, .backspace, .backspace])
    #expect(keys("\u{3}\u{1A}\u{1}") == [.control("c"), .control("z"), .control("a")])
    #expect(keys("é猫🙂") == [.character("é"), .character("猫"), .character("🙂")])
  }

  @Test func sequences() {
    #expect(keys("\u{1B}[A\u{1B}OB\u{1B}[1;5C\u{1B}[D") == [.up, .down, .right, .left])
    #expect(
      keys("\u{1B}[H\u{1B}[4~\u{1B}[3~\u{1B}[5~\u{1B}[6~") == [.home, .end, .delete, .pageUp, .pageDown])
    #expect(keys("\u{1B}OP\u{1B}[15~\u{1B}[24;2~") == [.function(1), .function(5), .function(12)])
    #expect(keys("\u{1B}[Z\u{1B}x") == [.backTab, .alt("x")])
    #expect(keys("\u{1B}[0n") == [.answer(.ready)])
    #expect(keys("\u{1B}[1;2S") == [.function(4)])
    #expect(
      keys("\u{1B}[<0;1;2Mq") == [.enter, .character("q")] || keys("\u{1B}[<0;1;2Mq") == [.character("q")])
  }

  @Test func answersAreTold() {
    #expect(
      keys("a\u{1B}[?62;4;22cb\u{1B}[6;18;9t\u{1B}[4;432;720t\u{1B}[?1;0;256S")
        == [
          .character("a"), .answer(.attributes([62, 4, 22])), .character("b"),
          .answer(.cellSize(width: 9, height: 18)), .answer(.windowSize(width: 720, height: 432)),
          .answer(.colorRegisters(256)),
        ])
    #expect(keys("\u{1B}P>|kitty(0.26.5)\u{1B}\\q") == [.answer(.version("kitty(0.26.5)")), .character("q")])
    #expect(keys("\u{1B}P1+r524742=38\u{1B}\\") == [.answer(.directColor(true))])
    #expect(keys("\u{1B}P0+r524742\u{1B}\\") == [.answer(.directColor(false))])
    #expect(keys("\u{1B}_Gi=31;OK\u{1B}\\") == [.answer(.kittyGraphics(true))])
    #expect(keys("\u{1B}_Gi=31;EINVAL:no\u{1B}\\") == [.answer(.kittyGraphics(false))])
  }

  @Test func otherStringsAndSequencesAreSwallowed() {
    #expect(keys("\u{1B}[?2026;2$yq") == [.character("q")])
    #expect(keys("\u{1B}]11;rgb:0/0/0\u{7}q") == [.character("q")])
    #expect(keys("\u{1B}P1+r\u{1B}\\q") == [.character("q")])
    #expect(keys("\u{1B}_Gi=9;OK\u{1B}\\q") == [.character("q")])
    #expect(keys("\u{1B}[" + String(repeating: "1", count: 500) + "Aq").last == .character("q"))
  }

  @Test func anAnswerThatIsHeldUpIsNotTakenForKeys() {
    var decoder = KeyDecoder()
    #expect(decoder.decode(Array("\u{1B}P>|xt".utf8), at: .zero) == [])
    #expect(
      decoder.decode(Array("erm(379)\u{1B}\\q".utf8), at: .zero + .milliseconds(900))
        == [.answer(.version("xterm(379)")), .character("q")])
    // Somebody who presses Alt and P is not made to wait.
    #expect(decoder.decode(Array("\u{1B}P".utf8), at: .zero + .seconds(2)) == [])
    #expect(decoder.decode(Array("q".utf8), at: .zero + .milliseconds(2100)) == [.character("q")])
  }

  @Test func loneEscapeIsAKeyAfterAWhile() {
    var decoder = KeyDecoder()
    #expect(decoder.decode([0x1B], at: .zero) == [])
    #expect(decoder.deadline == Instant.zero + KeyDecoder.escapeTimeout)
    #expect(decoder.advance(to: .zero + .milliseconds(49)) == [])
    #expect(decoder.advance(to: .zero + .milliseconds(50)) == [.escape])
    #expect(decoder.deadline == nil)
    #expect(decoder.decode([0x1B], at: .zero) == [])
    #expect(decoder.decode([0x71], at: .zero + .seconds(1)) == [.escape, .character("q")])
  }

  @Test func anyCutGivesTheSameKeys() {
    let text = "a\u{1B}[1;5Cé\u{1B}OA\u{1B}[200~pa\nste\u{1B}[201~猫\u{1B}[3~\u{1B}]0;x\u{1B}\\z"
    let bytes = Array(text.utf8)
    let whole = keys(text)
    #expect(
      whole == [
        .character("a"), .right, .character("é"), .up, .paste("pa\nste"), .character("猫"), .delete,
        .character("z"),
      ])
    for cut in 0...bytes.count {
      var decoder = KeyDecoder()
      let first = decoder.decode(bytes[..<cut], at: .zero)
      let second = decoder.decode(bytes[cut...], at: .zero + .milliseconds(1))
      #expect(first + second == whole, "cut at \(cut)")
    }
  }

  @Test func pasteIsBounded() {
    let long = String(repeating: "x", count: 200_000)
    let keys = keys("\u{1B}[200~\(long)\u{1B}[201~q")
    #expect(keys.count == 2)
    #expect(keys.last == .character("q"))
    if case .paste(let text) = keys.first { #expect(text.utf8.count <= KeyDecoder.maximumPaste) }
  }

  @Test func badUTF8IsReplaced() {
    var decoder = KeyDecoder()
    #expect(
      decoder.decode([0xFF, 0xC3, 0x71], at: .zero) == [
        .character("\u{FFFD}"), .character("\u{FFFD}"), .character("q"),
      ])
    #expect(decoder.decode([0xED, 0xA0, 0x80], at: .zero) == [.character("\u{FFFD}")])
  }

  @Test func anyBytesAreTaken() {
    var generator = SeededGenerator(seed: 7)
    var decoder = KeyDecoder()
    for round in 0..<3000 {
      let special: [UInt8] = [0x1B, 0x5B, 0x4F, 0x7E, 0x5D, 0x07]
      let bytes = (0..<20).map { _ in
        Bool.random(using: &generator)
          ? UInt8.random(in: 0...255, using: &generator) : special.randomElement(using: &generator) ?? 0
      }
      _ = decoder.decode(bytes, at: .zero + .milliseconds(round * 10))
    }
    _ = decoder.advance(to: .zero + .seconds(1000))
    // Whatever came, the end of a string and of a paste is found again.
    _ = decoder.decode(Array("\u{7}\u{1B}[201~\u{1B}\\".utf8), at: .zero + .seconds(1001))
    #expect(decoder.decode(Array("q".utf8), at: .zero + .seconds(1002)) == [.character("q")])
  }
}

struct LineEditorTests {
  private func edit(_ keys: [Key]) -> LineEditor {
    var editor = LineEditor()
    for key in keys { #expect(editor.handle(key) == .editing) }
    return editor
  }

  private func typed(_ text: String) -> [Key] { text.map { .character($0) } }

  @Test func editing() {
    #expect(edit(typed("hallo") + [.left, .left, .left, .left, .delete, .character("e")]).text == "hello")
    #expect(edit(typed("one two") + [.control("w")]).text == "one ")
    #expect(edit(typed("one") + [.home, .character("x"), .end, .character("y")]).text == "xoney")
    #expect(edit(typed("abc") + [.left, .control("k")]).text == "ab")
    #expect(edit(typed("abc") + [.left, .control("u")]).text == "c")
    #expect(edit([.backspace, .left, .delete, .right, .up, .function(1)]).text == "")
  }

  @Test func backspaceTakesAWholeGrapheme() {
    #expect(edit([.character("a"), .character("e\u{301}"), .backspace]).text == "a")
    #expect(edit([.character("👨"), .character("\u{200D}"), .character("👩"), .backspace]).text == "")
    #expect(edit([.character("e"), .character("\u{301}")]).position == 1)
  }

  @Test func outcomes() {
    var editor = edit(typed("  hi there "))
    #expect(editor.handle(.enter) == .submitted("hi there"))
    #expect(editor.handle(.escape) == .cancelled)
    var blank = edit(typed("   "))
    #expect(blank.handle(.enter) == .submitted(""))
  }

  @Test func pasteIsOneCleanLine() {
    #expect(edit([.paste("a\nb\tc\u{1B}[31m\u{7}")]).text == "a b c[31m")
    #expect(edit([.paste(String(repeating: "é", count: 9000))]).text.utf8.count == LineEditor.maximumBytes)
  }
}

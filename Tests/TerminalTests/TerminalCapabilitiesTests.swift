import Testing

@testable import Terminal

struct TerminalCapabilitiesTests {
  private func detect(_ environment: [String: String]) -> TerminalCapabilities {
    TerminalCapabilities(environment: environment)
  }

  @Test(
    arguments: [
      (["TERM": "xterm"], ColorDepth.palette16), (["TERM": "xterm-256color"], .palette256),
      (["TERM": "xterm-256color", "COLORTERM": "truecolor"], .trueColor),
      (["TERM": "screen-256color", "COLORTERM": "24bit"], .trueColor), (["TERM": "xterm-kitty"], .trueColor),
      (["TERM": "xterm-direct"], .trueColor), (["TERM": "foot"], .trueColor), (["TERM": "linux"], .palette16),
      (["TERM": "vt220"], .none), (["TERM": "dumb"], .none), ([:], .none),
      (["TERM": "xterm-kitty", "COLORTERM": "truecolor", "NO_COLOR": "1"], .none),
      (["TERM": "xterm-256color", "NO_COLOR": ""], .palette256),
    ])
  func colours(environment: [String: String], depth: ColorDepth) {
    #expect(detect(environment).colors == depth)
  }

  @Test func unicodeIsTheLocales() {
    #expect(detect(["TERM": "xterm", "LANG": "de_DE.UTF-8"]).unicode)
    #expect(detect(["TERM": "xterm", "LC_CTYPE": "C.utf8", "LANG": "C"]).unicode)
    #expect(!detect(["TERM": "xterm", "LANG": "en_US.UTF-8", "LC_ALL": "C"]).unicode)
    #expect(!detect(["TERM": "xterm", "LANG": "C"]).unicode)
    #expect(!detect(["TERM": "xterm"]).unicode)
    #expect(detect(["TERM": "xterm", "LC_ALL": "", "LANG": "C.UTF-8"]).unicode)
  }

  @Test func dumbTerminalsHaveNoScreen() {
    #expect(!detect(["TERM": "dumb"]).addressable)
    #expect(!detect([:]).addressable)
    #expect(detect(["TERM": "linux"]).addressable)
  }

  @Test func nonsensicalSizesAreReplaced() {
    #expect(
      TerminalSize(columns: 0, rows: 0, pixelWidth: 0, pixelHeight: 0) == TerminalSize(columns: 80, rows: 24))
    #expect(
      TerminalSize(columns: 1, rows: 1, pixelWidth: 0, pixelHeight: 0) == TerminalSize(columns: 1, rows: 1))
    #expect(TerminalSize(columns: 100, rows: 50, pixelWidth: 800, pixelHeight: 1000).cellAspect == 2.5)
    #expect(TerminalSize(columns: 100, rows: 50, pixelWidth: 1, pixelHeight: 1000).cellAspect == 2)
  }
}

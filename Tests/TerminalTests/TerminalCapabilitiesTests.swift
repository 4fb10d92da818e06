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

  @Test func multiplexersAreSeen() {
    #expect(detect(["TERM": "tmux-256color"]).isMultiplexed)
    #expect(detect(["TERM": "screen.xterm-256color"]).isMultiplexed)
    #expect(detect(["TERM": "xterm-256color", "TMUX": "/tmp/tmux-0/default,1,0"]).isMultiplexed)
    #expect(!detect(["TERM": "xterm-kitty"]).isMultiplexed)
  }

  @Test func nonsensicalSizesAreReplaced() {
    func size(_ columns: Int, _ rows: Int, _ width: Int, _ height: Int) -> TerminalSize {
      TerminalSize(columns: columns, rows: rows, pixelWidth: width, pixelHeight: height)
    }
    #expect(size(0, 0, 0, 0) == TerminalSize(columns: 80, rows: 24))
    #expect(size(1, 1, 0, 0) == TerminalSize(columns: 1, rows: 1))
    #expect(
      size(100, 50, 800, 1000) == TerminalSize(columns: 100, rows: 50, cell: .init(width: 8, height: 20)))
    #expect(size(100, 50, 800, 1000).cellAspect == 2.5)
    #expect(size(100, 50, 1, 1000).cellAspect == 2)
    #expect(size(100, 50, 65535, 65535).cell == nil)
  }
}

struct TerminalAnswersTests {
  private let capable = TerminalCapabilities(colors: .palette256, unicode: true)

  private func answers(_ all: TerminalAnswer...) -> TerminalAnswers {
    var answers = TerminalAnswers()
    for answer in all { answers.take(answer) }
    return answers
  }

  @Test func theBestIsChosen() {
    let sixel = TerminalAnswer.attributes([62, 4, 22])
    #expect(answers().style(for: capable) == .symbols, "nothing is known")
    #expect(answers(.attributes([62, 22])).style(for: capable) == .symbols)
    #expect(answers(sixel).style(for: capable) == .sixel)
    #expect(answers(.kittyGraphics(true), sixel).style(for: capable) == .kitty)
    #expect(answers(.kittyGraphics(false), sixel).style(for: capable) == .sixel)
    let iterm2 = TerminalAnswer.version("iTerm2 3.5.14")
    #expect(answers(iterm2, sixel).style(for: capable) == .iterm2)
    #expect(answers(iterm2, .kittyGraphics(true)).style(for: capable) == .kitty)
    #expect(answers(.version("XTerm(379)"), sixel).style(for: capable) == .sixel)
    var capabilities = capable
    capabilities.isMultiplexed = true
    #expect(answers(.kittyGraphics(true)).style(for: capabilities) == .symbols)
    #expect(answers(.kittyGraphics(true), sixel).style(for: capabilities) == .sixel)
    #expect(answers(iterm2, sixel).style(for: capabilities) == .sixel)
    capabilities = TerminalCapabilities(colors: .none, unicode: true)
    #expect(answers(.kittyGraphics(true), sixel).style(for: capabilities) == .symbols, "NO_COLOR")
    capabilities.unicode = false
    #expect(answers().style(for: capabilities) == .ascii)
  }

  @Test func coloursAreTheTerminals() {
    #expect(answers().colors(capable) == .palette256)
    #expect(answers(.directColor(true)).colors(capable) == .trueColor)
    #expect(answers(.directColor(true)).colors(TerminalCapabilities(colors: .none, unicode: true)) == .none)
  }

  @Test func cellsAreMeasured() {
    #expect(answers().cell(columns: 80, rows: 24) == nil)
    #expect(
      answers(.windowSize(width: 720, height: 432)).cell(columns: 80, rows: 24) == .init(width: 9, height: 18)
    )
    #expect(
      answers(.windowSize(width: 720, height: 432), .cellSize(width: 8, height: 16)).cell(
        columns: 80, rows: 24)
        == .init(width: 8, height: 16))
    #expect(answers(.cellSize(width: 0, height: -1)).cell(columns: 80, rows: 24) == nil)
    #expect(answers(.windowSize(width: 720, height: 432)).cell(columns: 0, rows: 0) == nil)
  }

  @Test func onlyThoseWhoUnderstandAreAsked() {
    let whole = TerminalAnswers.questions(for: capable)
    #expect(whole.contains("\u{1B}_G") && whole.hasSuffix("\u{1B}[c"))
    var capabilities = capable
    capabilities.isMultiplexed = true
    // tmux would show it as the window's title.
    #expect(!TerminalAnswers.questions(for: capabilities).contains("\u{1B}_"))
    let console = TerminalCapabilities(environment: ["TERM": "linux", "LANG": "C.UTF-8"])
    #expect(TerminalAnswers.questions(for: console) == "")
  }
}

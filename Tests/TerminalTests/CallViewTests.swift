import Base
import Testing

@testable import Terminal

/// Whole screens as text. Pictures are no part of it: where they go is asserted by itself.
struct CallViewTests {
  private func state(_ events: CallEvent...) -> CallState {
    var state = CallState(ownName: "Ada")
    for event in [.connection(.connected)] + events { _ = state.update(event, at: .zero) }
    return state
  }

  private let bob = CallSubscriber(streamID: "b", name: "Bob")
  private let figures = CallStatistics(
    received: [
      "b": CallFlow(
        width: 640, height: 480, framesPerSecond: 29.97, bitsPerSecond: 812_345, packetLoss: 0.0021,
        audioLevel: -23.4, roundTripTime: .milliseconds(23),
        details: [CallDetail("candidates", "host/host")]),
      "e": CallFlow(width: 160, height: 120, framesPerSecond: 7),
    ],
    sent: CallFlow(width: 320, height: 240, framesPerSecond: 15, bitsPerSecond: 1_250_000))

  private func screen(_ lines: String...) -> String { lines.joined(separator: "\n") }

  @Test func alone() {
    let view = state(.shareURL("http://127.0.0.1:8080/")).view(columns: 50, rows: 6)
    #expect(
      view.text
        == screen(
          " nobody else is here yet", " others join at http://127.0.0.1:8080/", "", "", "",
          " Ada · mic on · cam on │ alone │ ? help"))
    #expect(
      view.pictures == [
        PicturePlacement(source: .own, area: CellRectangle(column: 0, row: 0, columns: 50, rows: 5))
      ])
  }

  @Test func longAddressesAreShownWhole() {
    let view = state(.shareURL("https://example.org/a/long/path/to/the/room")).view(columns: 24, rows: 6)
    #expect(
      view.text
        == screen(
          " nobody else is here", " yet", " others join at", " https://example.org/a/",
          " long/path/to/the/room",
          " mic on · cam on │ alone"))
  }

  @Test func call() {
    var state = state(
      .subscriberAdded(bob), .statistics(figures), .microphone(false),
      .chat(from: "Bob", text: "hello there", isOwn: false), .chat(from: "Ada", text: "hi", isOwn: true))
    state.showsSelfView = true
    let view = state.view(columns: 100, rows: 8)
    #expect(
      view.text
        == screen(
          "", "", "", "", "", " Bob: hello there", " Ada: hi",
          " Ada · mic off · cam on │ Bob · 640x480 · 30 fps · 812 kb/s · loss 0.2% · rtt 23 ms │ ? help"))
    #expect(
      view.pictures == [
        PicturePlacement(source: .stream("b"), area: CellRectangle(column: 0, row: 0, columns: 100, rows: 7))
      ])
    #expect(
      state.view(columns: 100, rows: 31).pictures.last
        == PicturePlacement(source: .own, area: CellRectangle(column: 75, row: 0, columns: 25, rows: 10)))
  }

  @Test func statusLineGivesUpTheLeastImportantFirst() {
    let state = state(.subscriberAdded(bob), .statistics(figures))
    func status(_ columns: Int) -> String { state.view(columns: columns, rows: 1).text }
    #expect(status(80) == " Ada · mic on · cam on │ Bob · 640x480 · 30 fps · 812 kb/s · loss 0.2% │ ? help")
    #expect(status(60) == " Ada · mic on · cam on │ Bob · 30 fps · 812 kb/s │ ? help")
    #expect(status(40) == " Ada · mic on · cam on │ Bob · 30 fps")
    #expect(status(30) == " Ada · mic on · cam on │ Bob")
    #expect(status(16) == " mic on │ Bob")
    #expect(status(5) == " Bob")
    #expect(status(3) == " B…")
    #expect(status(1) == "…")
  }

  @Test func whatIsOffIsSaid() {
    var quiet = bob
    quiet.hasAudio = false
    quiet.hasVideo = false
    let view = state(.subscriberAdded(quiet), .camera(false)).view(columns: 60, rows: 5)
    #expect(
      view.text
        == screen(
          "", "", "                      Bob: camera off", "",
          " Ada · mic on · cam off │ Bob · muted │ ? help"))
    #expect(view.pictures.isEmpty)
    #expect(
      state(.subscriberAdded(bob), .subscriberAudio(false), .publishing(false), .archiving(true))
        .view(columns: 70, rows: 1).text == " Ada · watching · recording │ Bob · sound off │ ? help")
  }

  @Test func aSlowNetworkIsSaid() {
    let view = state(.subscriberAdded(bob), .picturesPaused(["b"], ofOwn: 1)).view(columns: 72, rows: 3)
    #expect(
      view.text
        == screen(
          "", "        Bob: sound only, the network is too slow for the picture",
          " Ada · mic on · cam on · picture paused │ Bob · slow network │ ? help"))
    #expect(view.pictures.isEmpty)
    #expect(
      state(.subscriberAdded(bob), .picturesPaused(["other"], ofOwn: 3)).view(columns: 72, rows: 1).text
        == " Ada · mic on · cam on · picture paused for 3 │ Bob │ ? help")
    #expect(
      state(.picturesPaused([], ofOwn: 1), .camera(false)).view(columns: 72, rows: 1).text
        == " Ada · mic on · cam off │ alone │ ? help")
  }

  @Test func connectionStates() {
    var connecting = CallState(ownName: "Ada")
    _ = connecting.update(.connection(.connecting("asking for credentials")), at: .zero)
    #expect(
      connecting.view(columns: 50, rows: 3).text
        == screen(" asking for credentials…", "", " connecting · Ada · mic on · cam on │ ? help"))
    #expect(
      state(.connection(.reconnecting("no answer"))).view(columns: 50, rows: 2).text
        == screen(" no answer, reconnecting…", " reconnecting · Ada · mic on · cam on │ ? help"))
    #expect(
      state(.connection(.disconnected("forced"))).view(columns: 50, rows: 2).text
        == screen(" disconnected: forced", " disconnected · Ada · mic on · cam on │ ? help"))
  }

  @Test func companyIsTold() {
    func first(_ events: CallEvent...) -> String {
      var state = CallState(ownName: "Ada")
      for event in [.connection(.connected)] + events { _ = state.update(event, at: .zero) }
      return state.view(columns: 60, rows: 4).text.split(separator: "\n").first.map(String.init) ?? ""
    }
    #expect(first(.others(1), .others(0)) == " nobody else is here")
    #expect(first(.others(1)) == " somebody is here, and not received")
    #expect(first(.others(2)) == " 2 others are here, and not received")
    let hosting = state(.shareURL("http://h/"), .hosting(true)).view(columns: 60, rows: 5).text
    #expect(hosting.contains("\n others join at http://h/\n the call ends for all when you leave\n"))
    #expect(
      state(.others(3), .subscriberAdded(bob)).view(columns: 60, rows: 1).text
        == " Ada · mic on · cam on │ Bob (+2) │ ? help")
  }

  @Test func whoFallsSilentIsNotAnswering() {
    var state = state(.subscriberAdded(bob), .silent(["b"]))
    #expect(
      state.view(columns: 60, rows: 1).text == " Ada · mic on · cam on │ Bob · not answering │ ? help")
    _ = state.update(.silent([]), at: .zero)
    #expect(state.view(columns: 60, rows: 1).text == " Ada · mic on · cam on │ Bob │ ? help")
  }

  @Test func whatASmallWindowCutsOffIsCounted() {
    var state = state(.subscriberAdded(bob))
    _ = state.update(.key(.character("?")), at: .zero)
    let text = state.view(columns: 40, rows: 10).text
    #expect(text.contains(" v       camera off or on"))
    #expect(text.contains(" …       9 more"))
    #expect(!text.contains("statistics"))
  }

  @Test func aChatLineHasItsTime() {
    let state = state(
      .subscriberAdded(bob), .chat(from: "Bob", text: "hello there", isOwn: false, clock: "09:05"))
    #expect(state.view(columns: 40, rows: 6).text.contains(" 09:05 Bob: hello there"))
  }

  @Test func theFilterIsNamed() {
    var state = state(.subscriberAdded(bob))
    _ = state.update(.key(.character("f")), at: .zero)
    #expect(state.view(columns: 40, rows: 3).text.contains(" filter: mono"))
  }

  @Test func typing() {
    var state = state(.subscriberAdded(bob), .chat(from: "Bob", text: "a", isOwn: false))
    for character in "this is a long line" {
      if state.input == nil { _ = state.update(.key(.character("t")), at: .zero) }
      _ = state.update(.key(.character(character)), at: .zero)
    }
    var view = state.view(columns: 30, rows: 5)
    #expect(view.text == screen("", "", " Bob: a", "> this is a long line", " Ada · mic on · cam on │ Bob"))
    #expect(view.cursor.map { [$0.column, $0.row] } == [21, 3])
    view = state.view(columns: 12, rows: 5)
    #expect(view.text.split(separator: "\n")[1] == "> long line")
    #expect(view.cursor.map { [$0.column, $0.row] } == [11, 3])
    _ = state.update(.key(.home), at: .zero)
    view = state.view(columns: 12, rows: 5)
    #expect(view.cursor.map { [$0.column, $0.row] } == [2, 3])
  }

  @Test func oldChatGoes() {
    var state = state(.subscriberAdded(bob), .chat(from: "Bob", text: "old", isOwn: false))
    _ = state.update(.chat(from: "Bob", text: "new", isOwn: false), at: .zero + .seconds(15))
    _ = state.update(.tick, at: .zero + .seconds(21))
    #expect(state.view(columns: 40, rows: 9).text.contains("new"))
    #expect(!state.view(columns: 40, rows: 9).text.contains("old"))
    _ = state.update(.key(.character("t")), at: .zero + .seconds(22))
    #expect(state.view(columns: 40, rows: 9).text.contains("old"))
  }

  @Test func helpOverlay() {
    var state = state(.subscriberAdded(bob))
    _ = state.update(.key(.character("?")), at: .zero)
    let text = state.view(columns: 44, rows: 18).text
    #expect(text.contains(" Keys\n"))
    #expect(text.contains(" m       mute or unmute the microphone"))
    #expect(text.contains(" a       start or stop an archive"))
    #expect(text.contains(" w       the last archive's address"))
    #expect(text.contains(" q       leave"))
    #expect(!text.contains("space"))
    state.talk = PushToTalk()
    #expect(state.view(columns: 60, rows: 20).text.contains(" space   with --push-to-talk"))
  }

  @Test func whatAKeyHasDoneIsSeenOverTheFigures() {
    var state = state(.statistics(figures), .shareURL("http://127.0.0.1:8080/"))
    _ = state.update(.key(.character("i")), at: .zero)
    _ = state.update(.notice("archive: http://127.0.0.1:8080/archive/1/view"), at: .zero)
    let lines = { state.view(columns: 60, rows: 14).text.split(separator: "\n").map(String.init) }
    #expect(lines()[0] == " archive: http://127.0.0.1:8080/archive/1/view")
    _ = state.update(.tick, at: .zero + .seconds(60))
    // What is always there would hide them for good.
    #expect(lines()[0] == " Statistics")
  }

  @Test func statisticsOverlay() {
    var state = state(.subscriberAdded(bob), .statistics(figures))
    _ = state.update(.key(.character("i")), at: .zero)
    #expect(
      state.view(columns: 42, rows: 14).text
        == screen(
          " Statistics: Bob", " received size        640x480", " received rate        30.0 fps          █",
          " received bitrate     812 kb/s          █", " received loss        0.2%              ▁",
          " received round trip  23 ms             ▂", " received level       -23 dBFS",
          " candidates           host/host", " sent size            320x240",
          " sent rate            15.0 fps          ▅", " sent bitrate         1.3 Mb/s          █", "", "",
          " Ada · mic on · cam on │ Bob · 30 fps"))
  }

  @Test func figuresAreThoseOfTheSelectedStream() {
    var state = state(
      .subscriberAdded(bob), .subscriberAdded(CallSubscriber(streamID: "e", name: "Eve")),
      .statistics(figures))
    for key in [Key.character("i"), .tab] { _ = state.update(.key(key), at: .zero) }
    let text = state.view(columns: 60, rows: 12).text
    #expect(text.contains(" Statistics: Eve"))
    #expect(text.contains(" received size  160x120"))
    #expect(text.contains("│ Eve (+1) · 160x120 · 7 fps"))
  }

  @Test func figuresOfTheLastMinuteAreBars() {
    var state = state(.subscriberAdded(bob))
    for second in 0..<100 {
      var flow = CallFlow(framesPerSecond: 30, bitsPerSecond: Double(second) * 10_000)
      flow.packetLoss = second == 99 ? 0.2 : 0
      _ = state.update(.statistics(CallStatistics(received: ["b": flow])), at: .zero + .seconds(second))
    }
    _ = state.update(.key(.character("i")), at: .zero)
    let lines = state.view(columns: 180, rows: 12).text.split(separator: "\n")
    #expect(lines[2].hasSuffix("  990 kb/s ▄▄▄▄▄▄▄▄▄▄▅▅▅▅▅▅▅▅▅▅▅▅▆▆▆▆▆▆▆▆▆▆▆▆▆▇▇▇▇▇▇▇▇▇▇▇▇█████████████"))
    #expect(lines[3].hasSuffix("▁▁▁█"))
    // Who is not received any more leaves no figures behind.
    _ = state.update(.statistics(CallStatistics()), at: .zero + .seconds(100))
    #expect(state.history.values(of: .stream("b"), \.framesPerSecond).isEmpty)
    #expect(state.history.values(of: .own, \.framesPerSecond).count == CallHistory.limit)
  }

  @Test func strangersNamesAndLinesAreHarmless() {
    let stranger = CallSubscriber(
      streamID: "x", name: "\u{1B}]0;pwned\u{7}\u{202E}x" + String(repeating: "y", count: 999))
    let state = state(
      .subscriberAdded(stranger), .chat(from: "\u{9B}2J", text: "a\u{1B}[2Jb\r\nc", isOwn: false))
    let text = state.view(columns: 60, rows: 6).text
    #expect(
      text.unicodeScalars.allSatisfy { $0 == "\n" || ($0.value >= 0x20 && !(0x7F...0x9F).contains($0.value)) }
    )
    #expect(text.contains(" 2J: a[2Jb c"))
    #expect(text.contains("]0;pwnedxyyyyyyyyyyyyyy…"))
  }

  @Test func noFigureTraps() {
    let flow = CallFlow(
      width: .max, height: .min, framesPerSecond: .nan, bitsPerSecond: .infinity, packetLoss: -.infinity,
      audioLevel: 1e300, roundTripTime: .seconds(Int64.max), endToEndLatency: .seconds(-1))
    let wild = CallStatistics(received: ["b": flow], sent: flow)
    var state = state(.subscriberAdded(bob), .statistics(wild))
    _ = state.update(.key(.character("i")), at: .zero)
    #expect(state.view(columns: 100, rows: 30).text.contains("- fps"))
  }

  @Test func everySizeIsDrawn() {
    var states = [state(.shareURL("http://127.0.0.1:8080/"))]
    states.append(
      state(
        .subscriberAdded(bob), .statistics(figures), .notice("n"), .chat(from: "B", text: "x y", isOwn: false)
      ))
    states[1].showsSelfView = true
    for key in ["?", "i", "t"] as [Character] {
      var state = states[1]
      _ = state.update(.key(.character(key)), at: .zero)
      states.append(state)
    }
    for state in states {
      for columns in [1, 2, 3, 5, 10, 40, 80, 300] {
        for rows in [1, 2, 3, 5, 10, 24, 100] {
          let view = state.view(columns: columns, rows: rows)
          #expect(view.cells.count == columns * rows)
          for picture in view.pictures {
            #expect(
              picture.area.column + picture.area.columns <= columns
                && picture.area.row + picture.area.rows < rows)
          }
          if let cursor = view.cursor { #expect(cursor.column < columns && cursor.row < rows) }
        }
      }
    }
    #expect(states[1].view(columns: 0, rows: -3).cells.count == 1)
  }
}

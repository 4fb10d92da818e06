import Base
import Testing

@testable import Terminal

struct CallGridTests {
  private let names = ["Ann", "Bob", "Cid", "Dora", "Eve", "Finn", "Gus", "Hal", "Ida"]

  private func state(_ count: Int, _ events: CallEvent...) -> CallState {
    var state = CallState(ownName: "Ada")
    let added = names.prefix(count).map { CallEvent.subscriberAdded(CallSubscriber(streamID: $0, name: $0)) }
    for event in [.connection(.connected)] + added + events { _ = state.update(event, at: .zero) }
    return state
  }

  private func sources(_ screen: Screen) -> [PictureSource] { screen.pictures.map(\.source) }

  @Test(arguments: [(2, 2, 1), (3, 2, 2), (4, 2, 2), (5, 3, 2), (9, 3, 3)])
  func tilesAreAsLargeAsCanBe(count: Int, columns: Int, rows: Int) {
    let area = CellRectangle(column: 0, row: 0, columns: 160, rows: 44)
    let grid = CallGrid(count: count, in: area, cellAspect: 2)
    #expect(grid.columns == columns && grid.rows == rows)
    #expect(CallGrid(count: 2, in: .init(column: 0, row: 0, columns: 40, rows: 60), cellAspect: 2).rows == 2)
  }

  @Test func tilesStayInTheirAreaAndApart() {
    for columns in [1, 7, 14, 29, 80, 161] {
      for rows in [1, 4, 5, 11, 23, 60] {
        for count in 1...12 {
          let area = CellRectangle(column: 0, row: 0, columns: columns, rows: rows)
          let grid = CallGrid(count: count, in: area, cellAspect: 2)
          #expect(grid.count >= 1)
          let used = min(count, grid.count)
          var taken: Set<[Int]> = []
          for index in 0..<used {
            let tile = grid.tile(index, of: used)
            for part in [tile.picture, tile.name] {
              for row in part.row..<max(part.row, part.row + part.rows) {
                for column in part.column..<part.column + part.columns {
                  #expect((0..<columns).contains(column) && (0..<rows).contains(row))
                  #expect(taken.insert([column, row]).inserted, "\(columns)x\(rows) \(count)")
                }
              }
            }
          }
        }
      }
    }
  }

  @Test func everybodyIsShownWithNameAndMarks() {
    var quiet = CallSubscriber(streamID: "Bob", name: "Bob", hasAudio: false, hasVideo: false)
    var state = state(
      3, .subscriberChanged(quiet), .silent(["Cid"]),
      .statistics(CallStatistics(received: ["Ann": CallFlow(audioLevel: -20)])))
    let view = state.view(columns: 60, rows: 13)
    #expect(
      view.text.split(separator: "\n") == [
        "                        camera off",
        " ▸ ● Ann             Bob · muted         Cid · not answer…",
        " Ada · mic on · cam on │ Ann (+2) │ ? help",
      ])
    #expect(sources(view) == [.stream("Ann"), .stream("Cid")])
    quiet.hasVideo = true
    _ = state.update(.subscriberChanged(quiet), at: .zero)
    #expect(sources(state.view(columns: 60, rows: 13)).count == 3)
  }

  @Test func theOwnPictureIsTheLastTile() {
    var state = state(2)
    state.showsSelfView = true
    var view = state.view(columns: 100, rows: 20)
    #expect(sources(view) == [.stream("Ann"), .stream("Bob"), .own])
    #expect(view.text.contains("Ada (you)"))
    _ = state.update(.camera(false), at: .zero)
    _ = state.update(.microphone(false), at: .zero)
    view = state.view(columns: 100, rows: 20)
    #expect(sources(view) == [.stream("Ann"), .stream("Bob")])
    #expect(view.text.contains("Ada (you) · muted"))
    #expect(view.text.contains("camera off"))
  }

  @Test func tabMarksAndEnterEnlarges() {
    var state = state(3)
    func press(_ keys: Key...) { for key in keys { _ = state.update(.key(key), at: .zero) } }
    press(.tab)
    #expect(state.view(columns: 80, rows: 24).text.contains("▸ Bob"))
    press(.enter)
    #expect(sources(state.view(columns: 80, rows: 24)) == [.stream("Bob")])
    press(.tab)
    #expect(sources(state.view(columns: 80, rows: 24)) == [.stream("Cid")])
    press(.backTab, .backTab)
    #expect(sources(state.view(columns: 80, rows: 24)) == [.stream("Ann")])
    press(.escape)
    #expect(sources(state.view(columns: 80, rows: 24)).count == 3)
    press(.enter)
    for name in ["Cid", "Bob"] { _ = state.update(.subscriberRemoved(streamID: name), at: .zero) }
    #expect(!state.isEnlarged)
    #expect(sources(state.view(columns: 80, rows: 24)) == [.stream("Ann")])
  }

  @Test func aSmallWindowShowsThoseAroundTheSelectedOne() {
    var state = state(9)
    #expect(sources(state.view(columns: 30, rows: 11)) == ["Ann", "Bob", "Cid", "Dora"].map { .stream($0) })
    for _ in 0..<5 { _ = state.update(.key(.tab), at: .zero) }
    let view = state.view(columns: 30, rows: 11)
    #expect(sources(view) == ["Eve", "Finn", "Gus", "Hal"].map { .stream($0) })
    #expect(view.text.contains("▸ Finn"))
    #expect(sources(state.view(columns: 5, rows: 4)) == [.stream("Finn")])
  }

  @Test func speakersTakeOverWhenTheyAreLouder() {
    var speaker = ActiveSpeaker()
    speaker.update(["a": -60, "b": -50])
    #expect(speaker.streamID == nil, "nobody speaks")
    speaker.update(["a": -30, "b": -31])
    #expect(speaker.streamID == "a")
    speaker.update(["a": -30, "b": -26])
    #expect(speaker.streamID == "a", "not loud enough to take over")
    speaker.update(["a": -30, "b": -24])
    #expect(speaker.streamID == "b")
    speaker.update(["a": -70, "b": -70])
    #expect(speaker.streamID == "b", "a pause")
    speaker.update(["a": -40, "b": -46])
    #expect(speaker.streamID == "a")
    speaker.update(["b": -70])
    #expect(speaker.streamID == nil, "has left")
    speaker.update(["c": -20, "d": -20])
    #expect(speaker.streamID == "c")
  }
}

struct CallChatTests {
  private func state(lines: Int) -> CallState {
    var state = CallState(ownName: "Ada")
    _ = state.update(.connection(.connected), at: .zero)
    _ = state.update(.subscriberAdded(CallSubscriber(streamID: "b", name: "Bob")), at: .zero)
    for number in 1...lines {
      _ = state.update(.chat(from: "Bob", text: "line \(number)", isOwn: false), at: .zero)
    }
    return state
  }

  private func lines(_ state: CallState) -> [String] {
    state.view(columns: 60, rows: 13).text.split(separator: "\n").dropLast().map {
      String($0.drop { $0 == " " })
    }
  }

  @Test func pageKeysReadTheChatBack() {
    var state = state(lines: 30)
    _ = state.update(.tick, at: .zero + .seconds(60))
    #expect(lines(state).isEmpty, "old lines do not cover the picture")
    _ = state.update(.key(.pageUp), at: .zero + .seconds(60))
    #expect(lines(state).last == "↓ 5 newer")
    #expect(lines(state).dropLast().last == "Bob: line 25")
    _ = state.update(.chat(from: "Bob", text: "new", isOwn: false), at: .zero + .seconds(61))
    #expect(lines(state).last == "↓ 6 newer", "what is being read stays")
    #expect(lines(state).dropLast().last == "Bob: line 25")
    for _ in 0..<20 { _ = state.update(.key(.pageUp), at: .zero + .seconds(61)) }
    #expect(lines(state) == ["Bob: line 1", "↓ 30 newer"])
    _ = state.update(.key(.escape), at: .zero + .seconds(61))
    #expect(lines(state) == ["Bob: new"])
    for key in [Key.pageUp, .pageDown] { _ = state.update(.key(key), at: .zero + .seconds(61)) }
    #expect(state.chatOffset == nil)
    #expect(state.update(.key(.pageDown), at: .zero + .seconds(61)) == [])
  }

  @Test func whileTypingTheChatIsReadBackToo() {
    var state = state(lines: 30)
    for key in [Key.character("t"), .character("x"), .pageUp] { _ = state.update(.key(key), at: .zero) }
    #expect(lines(state).last == "> x")
    #expect(lines(state).dropLast().last == "↓ 5 newer")
    #expect(state.update(.key(.enter), at: .zero) == [.say("x")])
    #expect(state.chatOffset == nil && state.input == nil)
  }

  @Test func anEmptyChatIsReadBackWithoutHarm() {
    var state = CallState(ownName: "Ada")
    _ = state.update(.key(.pageUp), at: .zero)
    #expect(state.chatOffset == 0)
    #expect(state.view(columns: 10, rows: 3).rows == 3)
    _ = state.update(.chat(from: "Bob", text: "hi", isOwn: false), at: .zero)
    #expect(state.chatOffset == 0)
  }
}

struct SparklineTests {
  @Test func barsAreOfOneScale() {
    #expect(Sparkline.text([0, 1, 2, 3, 4, 5, 6, 7, 8], columns: 9, least: 0) == "▁▂▃▄▅▆▇██")
    #expect(Sparkline.text([1, 2], columns: 5, least: 4) == "   ▃▅")
    #expect(Sparkline.text([nil, .nan, 1, -3], columns: 4, least: 1) == "  █▁")
    #expect(Sparkline.text([9, 0, 0], columns: 2, least: 1) == "▁▁")
    #expect(Sparkline.text([0, 0], columns: 2, least: 0) == "  ")
    #expect(Sparkline.text([1], columns: 0, least: 1) == "")
  }
}

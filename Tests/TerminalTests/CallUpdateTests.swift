import Base
import Testing

@testable import Terminal

struct CallUpdateTests {
  private var state = CallState(ownName: "Ada")

  private func after(_ events: CallEvent...) -> CallState {
    var state = state
    for event in events { _ = state.update(event, at: .zero) }
    return state
  }

  private func commands(_ state: CallState, _ keys: Key...) -> [CallCommand] {
    var state = state
    return keys.flatMap { state.update(.key($0), at: .zero) }
  }

  private let bob = CallSubscriber(streamID: "b", name: "Bob")
  private let eve = CallSubscriber(streamID: "e", name: "Eve")

  @Test func keysAreCommands() {
    let expected: [(Key, CallCommand)] = [
      (.character("m"), .microphone(.toggle)), (.character("s"), .subscriberAudio(.toggle)),
      (.character("c"), .swapCamera), (.character("v"), .camera(.toggle)),
      (.character("a"), .archive(.toggle)),
      (.character("w"), .viewArchive), (.character("q"), .quit), (.control("c"), .interrupt),
      (.tab, .nextSubscriber),
    ]
    for (key, command) in expected { #expect(commands(state, key) == [command]) }
    #expect(commands(state, .character("x"), .up, .enter, .paste("q"), .alt("q")) == [])
  }

  @Test func keysOfAChatLineAreText() {
    #expect(commands(state, .character("t"), .character("q"), .character("m"), .enter) == [.say("qm")])
    #expect(commands(state, .character("t"), .enter, .character("m")) == [.microphone(.toggle)])
    #expect(commands(state, .character("t"), .character("x"), .escape, .character("q")) == [.quit])
    #expect(commands(state, .character("t"), .character("x"), .control("c")) == [.interrupt])
  }

  @Test func firstSubscriberIsShownAndItsEndShowsTheNext() {
    #expect(after(.subscriberAdded(bob), .subscriberAdded(eve)).selected == "b")
    #expect(
      after(.subscriberAdded(bob), .subscriberAdded(eve), .subscriberRemoved(streamID: "b")).selected == "e")
    #expect(after(.subscriberAdded(bob), .subscriberRemoved(streamID: "b")).selected == nil)
    #expect(after(.subscriberAdded(bob), .subscriberRemoved(streamID: "x")).selected == "b")
    #expect(after(.subscriberAdded(bob), .subscriberAdded(eve), .selected(streamID: "e")).selected == "e")
    #expect(after(.subscriberAdded(bob), .selected(streamID: "x")).selected == "b")
    let renamed = after(
      .subscriberAdded(bob), .subscriberChanged(CallSubscriber(streamID: "b", name: "Bobby")))
    #expect(renamed.subscribers.map(\.name) == ["Bobby"])
    #expect(after(.subscriberChanged(bob)).subscribers.isEmpty)
  }

  @Test func tabCyclesThroughWhatIsReceived() {
    var state = after(.subscriberAdded(bob), .subscriberAdded(eve))
    #expect(state.update(.key(.tab), at: .zero) == [])
    #expect(state.selected == "e")
    #expect(state.update(.key(.tab), at: .zero) == [])
    #expect(state.selected == "b")
    #expect(commands(after(.subscriberAdded(bob)), .tab) == [.nextSubscriber])
  }

  @Test func noticesGoAndAreFew() {
    var state = after(.notice("1"), .notice("2"), .notice("3"), .notice("4"))
    #expect(state.notices.map(\.text) == ["2", "3", "4"])
    _ = state.update(.tick, at: .zero + .milliseconds(5999))
    #expect(state.notices.count == 3)
    _ = state.update(.tick, at: .zero + .seconds(6))
    #expect(state.notices.isEmpty)
  }

  @Test func chatIsBounded() {
    var state = state
    for number in 0..<500 { _ = state.update(.chat(from: "Bob", text: "\(number)", isOwn: false), at: .zero) }
    #expect(state.chat.count == CallState.chatLimit)
    #expect(state.chat.last?.text == "499")
  }

  @Test func overlaysOpenAndClose() {
    func overlay(_ keys: Key...) -> CallState.Overlay? {
      var state = state
      for key in keys { _ = state.update(.key(key), at: .zero) }
      return state.overlay
    }
    #expect(overlay(.character("?")) == .help)
    #expect(overlay(.character("?"), .character("?")) == nil)
    #expect(overlay(.character("?"), .escape) == nil)
    #expect(overlay(.character("?"), .character("m")) == nil)
    #expect(overlay(.character("i")) == .statistics)
    #expect(overlay(.character("i"), .character("i")) == nil)
    #expect(overlay(.character("i"), .character("m")) == .statistics)
    #expect(overlay(.character("i"), .escape) == nil)
    #expect(overlay(.character("?"), .character("i")) == .statistics)
  }

  @Test func filtersGoRound() {
    var state = state
    var seen: [PictureFilter] = []
    for _ in PictureFilter.allCases {
      _ = state.update(.key(.character("f")), at: .zero)
      seen.append(state.filter)
    }
    #expect(seen == [.mono, .edges, .palette, .negative, .none])
  }
}

import Base
import Testing

@testable import Terminal

struct CallParticipantsTests {
  private let people = [
    CallParticipant(connectionID: "1", name: "Ada", isOwn: true),
    CallParticipant(connectionID: "2", name: "Bob", hasAudio: false),
    CallParticipant(connectionID: "3", name: "", publishes: false, hasAudio: false, hasVideo: false),
  ]

  private func state(_ moderation: CallModeration = [.disconnect, .unpublish, .mute]) -> CallState {
    var state = CallState(ownName: "Ada")
    for event: CallEvent in [
      .connection(.connected), .participants(people), .moderation(moderation), .key(.character("p")),
    ] {
      _ = state.update(event, at: .zero)
    }
    return state
  }

  private func commands(_ state: inout CallState, _ keys: Key...) -> [CallCommand] {
    var commands: [CallCommand] = []
    for key in keys { commands += state.update(.key(key), at: .zero) }
    return commands
  }

  private func text(_ state: CallState, rows: Int = 24) -> String {
    state.view(columns: 80, rows: rows).text
  }

  @Test func theListShowsEverybodyAndWhatCanBeDone() {
    let text = text(state())
    #expect(text.contains("Participants: 3"))
    #expect(text.contains("▸ Ada") && text.contains("you"))
    #expect(text.contains("Bob") && text.contains("muted"))
    #expect(text.contains("somebody") && text.contains("watching"))
    for action in ["disconnect", "end the stream", "mute all others", "new ones may speak"] {
      #expect(text.contains(action))
    }
  }

  @Test func whatTheTokenDoesNotAllowIsNotOffered() {
    var state = state(.unpublish)
    var text = text(state)
    #expect(text.contains("end the stream"))
    #expect(!text.contains("disconnect") && !text.contains("mute all"))
    _ = commands(&state, .down)
    #expect(commands(&state, .character("d"), .character("d"), .character("k"), .character("K")) == [])
    #expect(commands(&state, .character("l")) == [])
    text = self.text(state)
    #expect(text.contains("the token allows no such thing"))
    #expect(commands(&state, .character("u")) == [.unpublish(who: "2")])
  }

  @Test func keysModerateThePickedOne() {
    var state = state()
    #expect(commands(&state, .character("d"), .character("k"), .character("u")) == [], "that is oneself")
    #expect(text(state).contains("that is you"))
    #expect(commands(&state, .down, .character("k")) == [.mute(who: "2")])
    #expect(commands(&state, .character("u")) == [.unpublish(who: "2")])
    #expect(commands(&state, .character("K")) == [.muteAll(except: "1")])
    #expect(commands(&state, .character("l")) == [.liftMute])
    // Twice, and of the same one.
    #expect(commands(&state, .character("d")) == [])
    #expect(text(state).contains("d again: disconnect Bob"))
    #expect(commands(&state, .down, .character("d")) == [])
    #expect(
      commands(&state, .up, .character("d"), .character("m"), .character("d")) == [.microphone(.toggle)])
    #expect(commands(&state, .character("d")) == [.disconnect(who: "2")])
    #expect(commands(&state, .down, .character("k"), .character("u")) == [])
    #expect(text(state).contains("somebody publishes nothing"))
    #expect(commands(&state, .character("d"), .character("d")) == [.disconnect(who: "3")])
    // Round and out.
    #expect(commands(&state, .down, .up, .up, .character("k")) == [.mute(who: "2")])
    #expect(commands(&state, .character("p"), .character("k"), .character("d")) == [])
    #expect(!text(state).contains("Participants"))
  }

  @Test func thePickedOneStaysPicked() {
    var state = state()
    _ = commands(&state, .down, .character("d"))
    // Whoever comes or goes before: it is still Bob; when he goes, nobody else is disconnected in his place.
    _ = state.update(.participants(Array(people.dropFirst())), at: .zero)
    #expect(commands(&state, .character("k")) == [.mute(who: "2")])
    _ = commands(&state, .character("d"))
    _ = state.update(.participants([people[0], people[2]]), at: .zero)
    #expect(commands(&state, .character("d")) == [])
    _ = state.update(.participants([]), at: .zero)
    #expect(commands(&state, .character("d"), .character("k"), .up, .down) == [])
    #expect(text(state).contains("Participants: 0"))
  }

  @Test func ofManyThoseAroundThePickedOneAreShown() {
    var state = state()
    let many = (0..<100).map { CallParticipant(connectionID: "\($0)", name: "person-\($0)-") }
    _ = state.update(.participants(many), at: .zero)
    for _ in 0..<60 { _ = commands(&state, .down) }
    let index = state.roster.index
    let text = text(state)
    #expect(text.contains("▸ person-\(index)-"))
    #expect(text.contains("new ones may speak"))
    for rows in 1...12 { _ = self.text(state, rows: rows) }
  }
}

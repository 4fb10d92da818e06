import Base
import Testing

@testable import Terminal

@Suite struct PushToTalkTests {
  private func at(_ milliseconds: Int) -> Instant { .zero + .milliseconds(milliseconds) }

  @Test func aHeldKeyIsOneSpeech() {
    var state = CallState(ownName: "me", microphoneOn: false, pushToTalk: true)
    #expect(state.update(.key(.character(" ")), at: at(0)) == [.microphone(.on)])
    // The keyboard repeats after half a second, then thirty times a second.
    #expect(state.update(.talkDeadline, at: at(400)) == [])
    for time in stride(from: 500, to: 3_000, by: 33) {
      #expect(state.update(.key(.character(" ")), at: at(time)) == [])
      #expect(state.update(.talkDeadline, at: at(time + 30)) == [])
    }
    #expect(state.talk?.deadline == at(2_975 + 250))
    #expect(state.update(.talkDeadline, at: at(3_224)) == [])
    #expect(state.update(.talkDeadline, at: at(3_225)) == [.microphone(.off)])
    #expect(state.update(.talkDeadline, at: at(3_226)) == [])
    #expect(state.update(.key(.character(" ")), at: at(4_000)) == [.microphone(.on)])
  }

  @Test func aTapEndsByItself() {
    var state = CallState(ownName: "me", microphoneOn: false, pushToTalk: true)
    #expect(state.update(.key(.character(" ")), at: at(0)) == [.microphone(.on)])
    #expect(state.update(.talkDeadline, at: at(799)) == [])
    #expect(state.update(.talkDeadline, at: at(800)) == [.microphone(.off)])
  }

  @Test func withoutItTheSpaceBarDoesNothingAndInChatItIsASpace() {
    var state = CallState(ownName: "me")
    #expect(state.update(.key(.character(" ")), at: at(0)) == [])
    var talking = CallState(ownName: "me", pushToTalk: true)
    _ = talking.update(.key(.character("t")), at: at(0))
    for key in "a b" { #expect(talking.update(.key(.character(key)), at: at(1)) == []) }
    #expect(talking.update(.key(.enter), at: at(3)) == [.say("a b")])
  }
}

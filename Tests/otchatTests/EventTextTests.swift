import Base
import OpenTokProtocol
import Participant
import Testing

@testable import OTKit
@testable import otchat

struct EventTextTests {
  private let connection = Connection(ConnectionInfo(id: "c", creationTime: 0, data: "seat 4"))

  private func stream(_ name: String = "bob") -> OTKit.Stream {
    OTKit.Stream(
      StreamInfo(
        id: "s", name: name, creationTime: 0,
        connection: ConnectionInfo(id: "c", creationTime: 0, data: "seat 4"),
        channels: [ChannelInfo(id: "a", kind: .audio)]))
  }

  @Test func tellsOfACall() {
    let text = EventText()
    func line(_ event: SessionEvent) -> String? { text.line(.session(event)) }
    func chat(fromSelf: Bool = false) -> SessionEvent {
      .signal(Signal(type: "chat", data: "hello", from: connection, isFromSelf: fromSelf))
    }
    #expect(line(chat()) == "seat 4: hello")
    #expect(line(.streamCreated(stream())) == "bob is here")
    #expect(text.others == 1)
    #expect(line(chat()) == "bob: hello")
    #expect(line(chat(fromSelf: true)) == "me: hello")
    #expect(line(.streamPropertyChanged(stream(), .hasAudio(true, false))) == "bob has muted the microphone")
    #expect(line(.streamDestroyed(stream(), .clientDisconnected)) == "bob has left")
    #expect(line(.streamPropertyChanged(stream(), .hasAudio(true, false))) == nil, "not of our own stream")
    #expect(text.line(.micChanged(false)) == "the microphone is muted")
    #expect(text.line(.cameraChanged(true, source: "noise")) == "now sending noise")
    #expect(
      line(.error(.streamNotFound)) == "warning: the stream is gone (1501 OT_STREAM_NOT_FOUND)")
  }
}

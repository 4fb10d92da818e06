import Base
import OpenTokProtocol
@testable import Participant
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
      text.line(.cameraChanged(true, source: "auto"))
        == "there is one picture to send; --video-source, given several times, adds more")
    #expect(
      line(.error(.streamNotFound)) == "warning: the stream is gone (1501 OT_STREAM_NOT_FOUND)")
  }

  @Test func tellsOfPicturesThatSlowNetworksTake() {
    let text = EventText()
    func line(_ event: SessionEvent) -> String? { text.line(.session(event)) }
    func own(_ change: PublisherVideoChange, _ subscriber: String, _ name: String?) -> String? {
      line(.publisherVideo(streamID: "p", subscriberID: subscriber, name: name, change))
    }
    _ = line(.streamCreated(stream()))
    #expect(
      line(.videoDisableWarning(streamID: "s")) == "the network is slow: bob's picture may be paused")
    #expect(line(.videoDisabled(streamID: "s", .quality)) == "bob's picture is paused: too slow a network")
    #expect(text.pausedStreams == ["s"])
    #expect(line(.videoEnabled(streamID: "s", .publishVideo)) == nil)
    #expect(text.pausedStreams == ["s"])
    #expect(line(.videoEnabled(streamID: "s", .quality)) == "bob's picture is back")
    #expect(text.pausedStreams == [])
    _ = line(.videoDisabled(streamID: "s", .quality))
    _ = line(.subscriberDisconnected(streamID: "s"))
    #expect(text.pausedStreams == [], "it is made anew, with its picture")

    #expect(
      own(.videoDisableWarning, "1", "eve") == "the network is slow: your picture for eve may be paused")
    #expect(own(.videoDisableWarningLifted, "1", "eve") == nil)
    #expect(own(.videoDisabled, "1", "eve") == "your picture for eve is paused: too slow a network")
    #expect(own(.videoDisabled, "2", nil) == "your picture for somebody is paused: too slow a network")
    #expect(text.unseeingSubscribers == 2)
    #expect(own(.videoEnabled, "1", "eve") == "eve gets your picture again")
    #expect(text.unseeingSubscribers == 1)
    var statistics = Statistics(publishers: [.init(streamID: "p", subscribers: [.init(subscriberID: "2")])])
    func show() {
      _ = text.line(.stats(ParticipantStatistics(session: statistics, cpuSeconds: 0, rssBytes: 0)))
    }
    show()
    #expect(text.unseeingSubscribers == 1)
    statistics.publishers[0].subscribers = []
    show()
    #expect(text.unseeingSubscribers == 0, "it has left")
  }
}

import OpenTokProtocol
import Testing

struct RaptorURITests {
  @Test(arguments: [
    ("", RaptorURI.Resource.session), ("/connection/C", .connection("C")), ("/stream/ST", .stream("ST")),
    ("/stream/ST/channel/CH", .channel(stream: "ST", channel: "CH")),
    ("/stream/ST/channel/CH/data/D", .channelData(stream: "ST", channel: "CH", id: "D")),
    ("/stream/ST/subscriber/SUB", .subscriber(stream: "ST", subscriber: "SUB")),
    (
      "/stream/ST/subscriber/SUB/channel/CH",
      .subscriberChannel(stream: "ST", subscriber: "SUB", channel: "CH")
    ),
    ("/signal/N", .signal(id: "N", to: nil)), ("/connection/C/signal/N", .signal(id: "N", to: "C")),
    ("/archive/A", .archive("A")), ("/stream/ST/source/P2P", .source(stream: "ST", name: "P2P")),
  ])
  func parsesAndBuilds(path: String, resource: RaptorURI.Resource) throws {
    let uri = try #require(RaptorURI("/v2/partner/100/session/S" + path))
    #expect(uri == RaptorURI(partner: "100", session: "S", resource))
    #expect(uri.description == "/v2/partner/100/session/S" + path)
  }

  @Test(arguments: [
    "", "/", "v2/partner/100/session/S", "/v1/partner/100/session/S", "/v2/partner/100/session",
    "/v2/partner/100/session/", "/v2/session/S/partner/100", "/v2/partner/100/session/S/",
    "/v2/partner/100/session/S/stream", "/v2/partner/100/session/S/stream/", "/v2/partner//session/S",
    "/v2/partner/100/session/S/stream/ST/connection/C", "/v2/partner/100/session/S/nothing/N",
    "/v2/partner/100/session/S/subscriber/SUB", "/v2/partner/100/session/S/stream/a/stream/b",
    "/v2/partner/100/session/" + String(repeating: "x", count: 256),
    "/v2/partner/100/session/S" + String(repeating: "/stream/ST", count: 1000),
  ])
  func refuses(path: String) { #expect(RaptorURI(path) == nil) }

  @Test func messagesNeedMethodAndURI() throws {
    let uri = RaptorURI(partner: "1", session: "S", .stream("T"))
    let message = RaptorMessage(.deleted, uri, content: ["id": "T"], reason: "clientDisconnected")
    #expect(
      String(decoding: message.payload, as: UTF8.self)
        == #"{"method":"deleted","uri":"/v2/partner/1/session/S/stream/T","content":{"id":"T"},"reason":"clientDisconnected"}"#
    )
    #expect(try RaptorMessage(parsing: message.payload) == message)
    func parse(_ text: String) throws(RaptorError) { _ = try RaptorMessage(parsing: Array(text.utf8)) }
    #expect(throws: RaptorError.malformed) { try parse("") }
    #expect(throws: RaptorError.malformed) { try parse("[]") }
    #expect(throws: RaptorError.malformed) { try parse(#"{"method":1,"uri":"/v2/partner/1/session/S"}"#) }
    #expect(throws: RaptorError.unknownURI) { try parse(#"{"method":"read","uri":"/"}"#) }
  }

  @Test func deleteWithoutContentIsRead() throws {
    let message = try RaptorMessage(
      parsing: Array(#"{"method":"delete","uri":"/v2/partner/1/session/S"}"#.utf8))
    #expect(message == RaptorMessage(.delete, RaptorURI(partner: "1", session: "S"), content: [:]))
  }
}

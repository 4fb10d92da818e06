import OpenTokProtocol
import Testing

@testable import OTKit

@Suite struct SignallingLogTests {
  @Test func aLoggedFrameHoldsNoSecret() throws {
    let sdp = "v=0\r\na=ice-ufrag:abcd\r\na=ice-pwd:hush1\r\na=sendrecv\r\n"
    let content: JSON = [
      "sdp": .string(sdp), "token": "hush2",
      "iceServers": [["urls": "turn:h", "username": "u", "credential": "hush3"], ["password": "hush4"]],
    ]
    let message = RaptorMessage(.offer, SignallingRig.base.with(.stream("st")), content: content)
    var frame = RumorFrame(.message, headers: [:], payload: message.payload)
    frame.headers.append(RumorFrame.Header.token, "T1==hush5")
    let text = frame.logText
    #expect(text.hasPrefix("message {"))
    #expect(text.contains("a=ice-ufrag:abcd") && text.contains("a=ice-pwd:…") && text.contains("a=sendrecv"))
    #expect(text.contains(#""username":"u""#))
    #expect(!text.contains("hush"))
  }

  @Test func aDumpedDescriptionHoldsNoPasswordAndNothingForTheTerminal() {
    let sdp = "v=0\r\na=ice-ufrag:abcd\r\na=ice-pwd:hush1\r\ns=\u{1B}[2J\u{9B}x\na=ice-pwd:hush2\n"
    #expect(
      descriptionText(sdp)
        == "  v=0\n  a=ice-ufrag:abcd\n  a=ice-pwd:…\n  s=.[2J.x\n  a=ice-pwd:…")
  }

  @Test func framesWithoutJSONAreNamed() {
    #expect(RumorFrame(.ping).logText == "ping")
    #expect(RumorFrame(.status, headers: [RumorFrame.Header.status: "200"]).logText == "status 200")
    #expect(RumorFrame(.message, payload: [1, 2]).logText == "message with 2 bytes")
    let long = RumorFrame(.message, payload: Array("\"\(String(repeating: "x", count: 9999))\"".utf8))
    #expect(long.logText.count < 2100)
  }
}

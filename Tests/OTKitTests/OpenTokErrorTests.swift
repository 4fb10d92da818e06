import Testing

@testable import OTKit

@Suite struct OpenTokErrorTests {
  @Test func theWordsOfAnExpiredToken() {
    let error = OpenTokError.tokenExpired(secondsAgo: 312)
    #expect(error.message == "token expired 312 s ago; do the clocks differ?")
    #expect(error.code == 1004)
    #expect(error.name == "OT_AUTHENTICATION_ERROR")
    #expect(error.exitCode == .refused)
    #expect(error.hint == "get a new token; app servers make one for each request to /session")
  }

  @Test(arguments: [
    (OpenTokError.connectionRefused(host: "h", port: 1), 1006, ExitCode.unreachable),
    (.hostNotFound(host: "h"), 1006, .unreachable),
    (.tlsFailed(host: "h", detail: ""), 1006, .unreachable),
    (.timedOut(.credentials, seconds: 10), 1008, .temporaryFailure),
    (.notJSON(url: "u"), 2001, .senselessAnswer),
    (.htmlAnswer(url: "u"), 2001, .senselessAnswer),
    (.missingKeys(url: "u", keys: ["token"]), 2001, .senselessAnswer),
    (.httpStatus(url: "u", status: 404), 2001, .senselessAnswer),
    (.httpStatus(url: "u", status: 403), 1004, .refused),
    (.httpStatus(url: "u", status: 503), 2001, .temporaryFailure),
    (.tokenCutShort, 1004, .refused),
    (.invalidSessionID, 1005, .badConfiguration),
    (.connectionLimitExceeded, 1027, .refused),
    (.publishRefused(status: 403, reason: ""), 1500, .refused),
    (.streamLimitExceeded, 1605, .refused),
    (.signalRefused(status: 429, reason: ""), 429, .refused),
    (.forceDisconnected, 1006, .refused),
    (.subscriberFailed(.ice, from: "", detail: ""), 1554, .unreachable),
    (.sessionEnded, 1006, .unreachable),
    (.notTLS(host: "h", port: 1), 1006, .unreachable),
    (.noRelay, 1011, .badConfiguration),
  ])
  func codesAndExit(_ error: OpenTokError, _ code: Int, _ exit: ExitCode) {
    #expect(error.code == code)
    #expect(error.exitCode == exit)
  }

  @Test func whomSomethingFailedWithIsNamed() {
    #expect(
      OpenTokError.publisherFailed(.ice, to: "bob", detail: "no path").message
        == "sending to 'bob' failed (ICE): no path")
    #expect(
      OpenTokError.publisherFailed(.ice, to: nil, detail: "").message
        == "sending to a subscriber failed (ICE)")
    #expect(
      OpenTokError.subscriberFailed(.dtls, from: "bob", detail: "").message == "receiving 'bob' failed (DTLS)"
    )
    #expect(
      OpenTokError.subscriberFailed(.dtls, from: "", detail: "").message == "receiving a stream failed (DTLS)"
    )
    #expect(OpenTokError.httpStatus(url: "u", status: 403).hint?.contains("?accessKey=KEY") == true)
  }

  @Test func aStrangersTextIsOneHarmlessLine() {
    let error = OpenTokError.connectRefused(
      status: 403, reason: "no\r\n\u{1B}[31mway" + String(repeating: "x", count: 1000))
    #expect(error.message.hasPrefix("the server did not let us into the session (403): no   [31mwayxxx"))
    #expect(error.message.count < 300)
    #expect(
      OpenTokError.timedOut(.socket, seconds: .infinity).message.contains("longer than the time allowed"))
    #expect(OpenTokError.timedOut(.socket, seconds: 2.5).message.hasSuffix("longer than 2.5 s"))
  }
}

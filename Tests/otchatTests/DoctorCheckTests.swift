import Testing

@testable import otchat

@Suite struct DoctorCheckTests {
  private func clock(_ header: Double?, _ sent: Double, _ received: Double) -> DoctorCheck {
    .clock(header: header, sent: sent, received: received)
  }

  @Test func clocksThatAgreeAndThatDoNot() {
    #expect(clock(nil, 100, 101).verdict == .note)
    // The header has whole seconds.
    #expect(clock(100, 100.9, 101).verdict == .ok)
    #expect(clock(100, 100.1, 100.2).verdict == .ok)
    let ahead = clock(110, 100, 100.2)
    #expect(ahead.verdict == .note && ahead.finding == "the server's clock is ahead by 10 s")
    let behind = clock(10, 100, 100.2)
    #expect(behind.verdict == .failed && behind.finding == "the server's clock is behind by 90 s")
    #expect(behind.hint?.contains("tokens") == true)
    // A slow answer makes it uncertain.
    #expect(clock(102, 100, 110).verdict == .ok)
  }

  @Test func theHeaderIsRead() {
    #expect(DoctorCommand.seconds(ofDate: "Sun, 06 Nov 1994 08:49:37 GMT") == 784_111_777)
    #expect(DoctorCommand.seconds(ofDate: "") == nil && DoctorCommand.seconds(ofDate: "yesterday") == nil)
  }

  @Test func spreads() {
    let spread = LoadMeter.Spread((1...100).map(Double.init))
    #expect(spread?.median == 50 && spread?.p95 == 95 && spread?.worst == 100)
    let rates = LoadMeter.Spread((1...100).map(Double.init), worstIsLeast: true)
    #expect(rates?.median == 51 && rates?.p95 == 6 && rates?.worst == 1)
    #expect(LoadMeter.Spread([]) == nil)
  }
}

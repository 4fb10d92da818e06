import Peer
import Testing

@Suite struct TransportBenchmarkTests {
  @Test(arguments: [false, true])
  func losesNothingOnLoopback(counterMode: Bool) async throws {
    let result = try await TransportBenchmark.run(packets: 320, counterMode: counterMode)
    #expect(result.packetsLost == 0)
    #expect(result.packetsSentPerSecond > 0 && result.packetsReceivedPerSecond > 0)
    #expect(result.association.contains(counterMode ? "aes128CMSHA1_80" : "aeadAES128GCM"))
  }
}

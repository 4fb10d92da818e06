import SDP
import Testing

struct ICECandidateTests {
  @Test(arguments: [
    "candidate:1030023669 1 udp 2122260223 10.99.0.1 59057 typ host generation 0 network-id 1",
    "candidate:3285073249 1 tcp 1518280447 10.99.0.1 9 typ host tcptype active generation 0 network-id 1",
    "candidate:0 2 UDP 2122252542 10.97.0.2 35531 typ host",
    "candidate:1 1 udp 1686052607 203.0.113.5 40000 typ srflx raddr 10.0.0.1 rport 50000 generation 0 ufrag abcd",
    "candidate:4 1 udp 2113937151 4a3f2b6e-1f6f-4a3c-8d0a-0a1b2c3d4e5f.local 53210 typ host",
    "candidate:\u{301}1 1 udp 41885439 192.0.2.1 1 typ host \u{301}a \u{301}b",
    "candidate:9 1 udp 41885439 2001:db8::1 3478 typ relay raddr :: rport 0",
  ])
  func comesOutTheSame(text: String) throws {
    #expect(try ICECandidate(parsing: text).text == text)
    #expect(try ICECandidate(parsing: "a=" + text).text == text)
    #expect(try ICECandidate(parsing: String(decoding: text.utf8.dropFirst(10), as: UTF8.self)).text == text)
  }

  /// Found by fuzzing: the limit counted what stands before the candidate.
  @Test func theLongestComesOutTheSame() throws {
    let start = "1 1 udp 1 192.0.2.1 1 typ host a "
    let longest = start + String(repeating: "b", count: ICECandidate.maximumSize - start.utf8.count)
    #expect(try ICECandidate(parsing: ICECandidate(parsing: longest).text).value == longest)
    #expect(throws: SDPError.candidate) { try ICECandidate(parsing: longest + "b") }
  }

  @Test func values() throws {
    let candidate = try ICECandidate(
      parsing:
        "candidate:7 1 UDP 1686052607 203.0.113.5 40000 typ srflx raddr 10.0.0.1 rport 50000 ufrag abcd")
    #expect(
      candidate
        == ICECandidate(
          foundation: "7", component: 1, transport: "UDP", priority: 1_686_052_607, address: "203.0.113.5",
          port: 40000, kind: .srflx, relatedAddress: "10.0.0.1", relatedPort: 50000,
          attributes: [SDPAttribute("ufrag", "abcd")]))
    #expect(candidate.isUDP && !candidate.isTCP && !candidate.isMDNS)
    #expect(candidate["ufrag"] == "abcd")
    #expect(candidate["generation"] == nil)
  }

  @Test(arguments: [
    "", "candidate:", "candidate:1 1 udp 1 1.2.3.4 5", "candidate:1 1 udp 1 1.2.3.4 5 typ",
    "candidate:1 1 udp 1 1.2.3.4 5 typ none", "candidate:1 0 udp 1 1.2.3.4 5 typ host",
    "candidate:1 257 udp 1 1.2.3.4 5 typ host", "candidate:1 1 udp 4294967296 1.2.3.4 5 typ host",
    "candidate:1 1 udp -1 1.2.3.4 5 typ host", "candidate:1 1 udp 1 1.2.3.4 65536 typ host",
    "candidate:1 1 udp 1 1.2.3.4 5 typ host generation", "candidate:1 1 udp 1 1.2.3.4 5 typ host rport x",
    "candidate:1 1 udp 1 1.2.3.4 5 Typ host", "candidate:1 1 udp 1 1.2.3.4\r\n 5 typ host",
    "candidate:" + String(repeating: "1", count: 33) + " 1 udp 1 1.2.3.4 5 typ host",
    "candidate:1 1 udp 1 " + String(repeating: "a", count: 256) + " 5 typ host",
    "candidate:1 1 udp 1 1.2.3.4 5 typ host" + String(repeating: " a b", count: 1000),
  ])
  func refuses(text: String) {
    #expect(throws: SDPError.candidate) { try ICECandidate(parsing: text) }
  }
}

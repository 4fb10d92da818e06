import Peer
import Testing

@Suite struct CertificateTests {
  @Test func eachHasItsOwnFingerprint() throws {
    let (first, second) = (try Certificate(), try Certificate())
    #expect(first.fingerprint.algorithm == "sha-256")
    #expect(first.fingerprint.bytes.count == 32)
    #expect(first.fingerprint != second.fingerprint)
  }
}

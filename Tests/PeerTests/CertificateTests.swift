import Peer
import Testing

@Suite struct CertificateTests {
  @Test func eachHasItsOwnFingerprint() throws {
    let (first, second) = (try Certificate(), try Certificate())
    #expect(first.fingerprint.algorithm == .sha256)
    #expect(first.fingerprint.bytes.count == 32)
    #expect(first.fingerprint != second.fingerprint)
  }

  @Test func fingerprintTextGoesBothWays() throws {
    let fingerprint = try Certificate().fingerprint
    #expect(fingerprint.value.utf8.count == 95)
    #expect(CertificateFingerprint(algorithm: "SHA-256", value: fingerprint.value) == fingerprint)
    #expect(
      CertificateFingerprint(algorithm: "sha-256", value: fingerprint.value.lowercased()) == fingerprint)
  }

  @Test(arguments: [
    ("sha-1", "AB"), ("md5", "AB"), ("sha-256", ""), ("sha-256", "AB:CD"),
    ("sha-256", String(repeating: "+1:", count: 31) + "00"),
    ("sha-256", String(repeating: "-0:", count: 31) + "00"),
    ("sha-256", String(repeating: "AB:", count: 32)), ("sha-256", String(repeating: "é:", count: 31) + "00"),
  ])
  func brokenFingerprintsAreNone(algorithm: String, value: String) {
    #expect(CertificateFingerprint(algorithm: algorithm, value: value) == nil)
  }
}

import OpenTokProtocol
import TestSupport
import Testing

struct ProtocolFuzzTests {
  private func frames() throws -> [[UInt8]] {
    try Trace.all().flatMap(\.lines).compactMap { line in
      if case .frame(let frame) = line.content { frame.bytes } else { nil }
    }
  }

  @Test func alteredFramesNeverTrap() throws {
    var mutator = Mutator(corpus: try frames(), seed: 1)
    mutator.run(3000, fuzzRumor)
  }

  @Test func alteredMessagesNeverTrap() throws {
    let corpus = try frames().map { try RumorFrame(decoding: $0).payload }.filter { !$0.isEmpty }
    var mutator = Mutator(corpus: corpus, seed: 2)
    mutator.run(2000, fuzzRaptor)
  }

  @Test func alteredTokensNeverTrap() throws {
    let now: Int64 = 1_700_000_000
    let corpus = [Token.Format.t1, .jwt].map { format in
      let token = Token(
        format: format, apiKey: "100", sessionID: "1_MX4xMDB-", createTime: now, expireTime: now + 60,
        nonce: "1",
        connectionData: "name=a")
      return Array(token.signed(secret: "secret").utf8)
    }
    var mutator = Mutator(corpus: corpus + [Array("1_MX4xMDB-fjE3OTYwNDcyMjE3Nzd-fn4".utf8)], seed: 3)
    mutator.run(5000, fuzzToken)
    // What is signed may be wild too: a form and claims altered before they are signed.
    let fields = "session_id=1_S&create_time=1&expire_time=2&role=publisher&nonce=1&connection_data=x"
    var forms = Mutator(corpus: [Array("partner_id=100&sig=00:\(fields)".utf8)], seed: 4)
    for _ in 0..<2000 { Array("T1==\(Base64.text(forms.next()))".utf8).withUnsafeBytes(fuzzToken) }
    let claims =
      #"{"iss":"100","ist":"project","iat":1,"exp":2,"role":"publisher","session_id":"1_S","scope":"session.connect"}"#
    var webTokens = Mutator(corpus: [Array(claims.utf8)], seed: 5)
    let header = Base64.urlText(#"{"alg":"HS256"}"#.utf8)
    let signature = String(repeating: "A", count: 43)
    for _ in 0..<2000 {
      Array("\(header).\(Base64.urlText(webTokens.next())).\(signature)".utf8).withUnsafeBytes(fuzzToken)
    }
  }

  @Test func alteredSessionInfoNeverTraps() throws {
    let corpus = try Trace.all().flatMap(\.lines).compactMap { line -> [UInt8]? in
      if case .http(let exchange) = line.content, !exchange.body.isEmpty { exchange.body } else { nil }
    }
    var mutator = Mutator(corpus: corpus, seed: 6)
    mutator.run(2000, fuzzSessionInfo)
  }
}

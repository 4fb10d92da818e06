import Base
import OpenTokProtocol
import Testing

struct TokenTests {
  let token = Token(
    apiKey: "100", sessionID: "1_S", role: .moderator, createTime: 1000, expireTime: 2000, nonce: "7",
    connectionData: "name=A & B é", initialLayoutClassList: "full focus")

  func verify(
    _ text: String, key: String = "100", secret: String = "secret", session: String = "1_S", now: Int64 = 1500
  ) throws(TokenError) -> Token {
    try Token.verify(text, apiKey: key, secret: secret, sessionID: session, now: now, tolerance: 30)
  }

  func both() -> [Token] {
    var web = token
    web.format = .jwt
    return [token, web]
  }

  @Test func t1Bytes() {
    let text = token.signed(secret: "secret")
    let decoded = Base64.bytes(text.dropFirst(4)).map { String(decoding: $0, as: UTF8.self) }
    // The signature was computed with Python's hmac.
    #expect(
      decoded
        == "partner_id=100&sig=3080ffd86c7489a644de81641cd9ab53d51d2c3f:session_id=1_S&create_time=1000&expire_time=2000"
        + "&role=moderator&nonce=7&initial_layout_class_list=full+focus"
        + "&connection_data=name%3DA+%26+B+%C3%A9")
  }

  @Test func webTokenBytes() throws {
    // Made with Python: hmac, json and base64, in this order of claims.
    let text =
      "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJpc3MiOiIxMDAiLCJpc3QiOiJwcm9qZWN0IiwiaWF0IjoxMDAwL"
      + "CJleHAiOjIwMDAsIm5vbmNlIjoiNyIsInJvbGUiOiJtb2RlcmF0b3IiLCJzZXNzaW9uX2lkIjoiMV9TIiwic2NvcGU"
      + "iOiJzZXNzaW9uLmNvbm5lY3QiLCJpbml0aWFsX2xheW91dF9jbGFzc19saXN0IjoiZnVsbCBmb2N1cyIsImNvbm5lY"
      + "3Rpb25fZGF0YSI6Im5hbWU9QSAmIEIgw6kifQ.B5Z3YCPQ-KLKhO1L7r38n8K2vnbepxU9wXhcPWOFuLs"
    #expect(both()[1].signed(secret: "secret") == text)
  }

  @Test func comesOutAsItWentIn() throws {
    for token in both() {
      let text = token.signed(secret: "secret")
      #expect(try verify(text) == token)
      #expect(try Token.inspect(text) == token)
    }
  }

  @Test func timesWithTolerance() throws {
    for text in both().map({ $0.signed(secret: "secret") }) {
      #expect(throws: TokenError.notYetValid(secondsAhead: 31)) { try verify(text, now: 969) }
      #expect(try verify(text, now: 970) == verify(text, now: 2029))
      #expect(throws: TokenError.expired(secondsAgo: 30)) { try verify(text, now: 2030) }
      #expect(throws: TokenError.expired(secondsAgo: .max - 2000)) { try verify(text, now: .max) }
      #expect(throws: TokenError.self) { try verify(text, now: .min) }
    }
  }

  @Test func aLifetimeHasALimit() throws {
    for var token in both() {
      token.expireTime = token.createTime + Token.maximumLifetime
      #expect(try verify(token.signed(secret: "secret")) == token)
      for expireTime in [token.expireTime + 31, 1 << 50] {
        token.expireTime = expireTime
        #expect(throws: TokenError.malformed(field: "expire_time")) {
          try verify(token.signed(secret: "secret"))
        }
      }
    }
  }

  @Test func otherKeySecretAndSession() {
    for text in both().map({ $0.signed(secret: "secret") }) {
      #expect(throws: TokenError.otherAPIKey("100")) { try verify(text, key: "10") }
      #expect(throws: TokenError.badSignature) { try verify(text, secret: "") }
      #expect(throws: TokenError.otherSession) { try verify(text, session: "1_T") }
    }
  }

  @Test func everyCutIsRefused() {
    for text in both().map({ $0.signed(secret: "secret") }) {
      for length in 0..<text.count {
        #expect(throws: TokenError.self, "\(length)") { try verify(String(text.prefix(length))) }
      }
    }
    // Offline, a cut shows if it leaves no whole group of four, or no signature.
    let text = token.signed(secret: "secret")
    #expect(throws: TokenError.cutShort) { try Token.inspect(String(text.dropLast(1))) }
    #expect(throws: TokenError.cutShort) { try Token.inspect(String(text.prefix(40))) }
    #expect(throws: TokenError.cutShort) {
      try Token.inspect(String(both()[1].signed(secret: "secret").dropLast(2)))
    }
  }

  @Test func everyAlteredByteIsRefused() {
    for text in both().map({ $0.signed(secret: "secret") }) {
      for index in text.utf8.indices.dropLast(2) {
        var bytes = Array(text.utf8)
        let offset = text.utf8.distance(from: text.utf8.startIndex, to: index)
        bytes[offset] = bytes[offset] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
        let altered = String(decoding: bytes, as: UTF8.self)
        #expect(throws: TokenError.self, "\(offset)") { try verify(altered) }
      }
    }
  }

  @Test func aTokenWithoutASignatureAlgorithmIsRefused() {
    let claims = both()[1].signed(secret: "secret").split(separator: ".")[1]
    for (algorithm, error) in [
      ("none", TokenError.unsupportedAlgorithm("none")), ("RS256", .unsupportedAlgorithm("RS256")),
      ("HS512", .unsupportedAlgorithm("HS512")),
    ] {
      let header = Base64.urlText(#"{"alg":"\#(algorithm)","typ":"JWT"}"#.utf8)
      #expect(throws: error) { try verify("\(header).\(claims).") }
    }
    #expect(throws: TokenError.notAToken) { try verify("hello") }
    #expect(throws: TokenError.notAToken) { try verify("") }
  }

  @Test func otherOrderOfFieldsAndOtherFields() throws {
    let data = "nonce=1&role=publisher&sdk_version=9&expire_time=2000&create_time=1000&session_id=1_S"
    // The signature was computed with Python's hmac.
    let text =
      "T1=="
      + Base64.text("partner_id=100&sdk_version=x&sig=17c999b5669d0b6beda8cbf9e40cd745dc773915:\(data)".utf8)
    #expect(
      try verify(text)
        == Token(apiKey: "100", sessionID: "1_S", createTime: 1000, expireTime: 2000, nonce: "1"))
  }

  @Test func connectionDataHasALimit() {
    var long = token
    long.connectionData = String(repeating: "x", count: 1001)
    #expect(throws: TokenError.malformed(field: "connection_data")) {
      try verify(long.signed(secret: "secret"))
    }
  }
}

struct IdentifierTests {
  @Test func sessionIDs() throws {
    var generator = SeededGenerator(seed: 1)
    let id = SessionID(apiKey: "100", creationTime: 1_607_984_111_261, using: &generator)
    #expect(id.text.hasPrefix("1_MX4xMDB-fjE2MDc5ODQxMTEyNjF-"))
    #expect(SessionID(id.text) == id)
    #expect(id.apiKey == "100")
    #expect(id.creationTime == 1_607_984_111_261)
    #expect(id.belongs(to: "100") && !id.belongs(to: "10"))
    #expect(SessionID("2_MX4xMDB-fjE3OTYwNDcyMjE3Nzd-MmI0YzMyZTY1ZjQxNGZhMDk2NjM5MWJhfn4")?.apiKey == "100")
    for text in [
      "", "1", "1_", "1_MX4", "1-MX4xMDB-", "1_MX4xMDB!", "1_" + String(repeating: "M", count: 300),
    ] {
      #expect(SessionID(text) == nil)
    }
  }

  @Test func uuids() {
    var generator = SeededGenerator(seed: 1)
    let first = UUID.v4(using: &generator)
    #expect(
      first.wholeMatch(of: /[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}/) != nil)
    #expect(UUID.v4(using: &generator) != first)
    #expect(UUID.v4() != UUID.v4())
  }

  @Test func base64Vectors() {
    for (plain, text) in [
      ("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="), ("fooba", "Zm9vYmE="),
      ("foobar", "Zm9vYmFy"),
    ] {
      #expect(Base64.text(plain.utf8) == text)
      #expect(Base64.bytes(text) == Array(plain.utf8))
    }
    #expect(Base64.urlText([0xFB, 0xFF]) == "-_8")
    #expect(Base64.bytes("-_8") == [0xFB, 0xFF])
    #expect(Base64.bytes("+/8=") == [0xFB, 0xFF])
    for text in ["Z", "Zg===", "Zm9vY", "Zm 9v", "=", "===="] {
      #expect(Base64.bytes(text) == (text == "=" ? [] : nil))
    }
  }

  @Test func formFields() {
    let fields = FormEncoding.fields("a=1&b&=c&d=%41%zz%4&e=x=y&f=+%2B")
    #expect(fields.map(\.key) == ["a", "b", "", "d", "e", "f"])
    #expect(fields.map(\.value) == ["1", "", "c", "A%zz%4", "x=y", " +"])
    #expect(FormEncoding.text([("a b", "é&=~")]) == "a+b=%C3%A9%26%3D~")
  }
}

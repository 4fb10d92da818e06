// `T1==` + Base64("partner_id=KEY&sig=HEX:DATA"), DATA a form, HEX its HMAC-SHA1 over exactly those bytes.
extension Token {
  func t1Text(secret: String) -> String {
    var fields = [
      (key: "session_id", value: sessionID), (key: "create_time", value: String(createTime)),
      (key: "expire_time", value: String(expireTime)), (key: "role", value: role.rawValue),
      (key: "nonce", value: nonce), (key: "initial_layout_class_list", value: initialLayoutClassList),
    ]
    if !connectionData.isEmpty { fields.append((key: "connection_data", value: connectionData)) }
    let data = FormEncoding.text(fields)
    let signature = Hexadecimal.text(Signature.sha1(data.utf8, key: secret))
    return "T1==" + Base64.text("partner_id=\(apiKey)&sig=\(signature):\(data)".utf8)
  }

  static func parseT1(_ text: String) throws(TokenError) -> Parsed {
    let encoded = text.dropFirst(4)
    // All makers pad, so any other length means that the end is missing.
    guard encoded.utf8.count % 4 == 0 else { throw .cutShort }
    guard let bytes = Base64.bytes(encoded) else { throw .malformed(field: "encoding") }
    guard let colon = bytes.firstIndex(of: UInt8(ascii: ":")) else { throw .cutShort }
    let head = FormEncoding.fields(String(decoding: bytes[..<colon], as: UTF8.self))
    let message = Array(bytes[(colon + 1)...])
    let data = FormEncoding.fields(String(decoding: message, as: UTF8.self))
    func value(_ key: String) throws(TokenError) -> String {
      guard let value = data.last(where: { $0.key == key })?.value else { throw .cutShort }
      return value
    }
    func seconds(_ key: String) throws(TokenError) -> Int64 {
      guard let seconds = Int64(try value(key)) else { throw .malformed(field: key) }
      return seconds
    }
    guard let apiKey = head.last(where: { $0.key == "partner_id" })?.value, !apiKey.isEmpty else {
      throw .malformed(field: "partner_id")
    }
    guard let signature = head.last(where: { $0.key == "sig" })?.value,
      let digest = Hexadecimal.bytes(signature), digest.count == 20
    else { throw .malformed(field: "sig") }
    let optional = { key in data.last { $0.key == key }?.value }
    // Makers differ in the order of the fields; a role that is not named is publisher.
    guard let role = Role(rawValue: optional("role") ?? Role.publisher.rawValue) else {
      throw .malformed(field: "role")
    }
    let connectionData = optional("connection_data") ?? ""
    guard connectionData.count <= maximumConnectionData else { throw .malformed(field: "connection_data") }
    let token = Token(
      format: .t1, apiKey: apiKey, sessionID: try value("session_id"),
      role: role, createTime: try seconds("create_time"), expireTime: try seconds("expire_time"),
      nonce: optional("nonce") ?? "", connectionData: connectionData,
      initialLayoutClassList: optional("initial_layout_class_list") ?? "")
    return Parsed(token: token, message: message, signature: digest)
  }
}

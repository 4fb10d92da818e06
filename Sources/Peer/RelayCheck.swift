import Base
import COpenSSL
import Glibc

/// Asks a TURN server for a relay address as libnice does (RFC 8656, 7), to find out why it gives none:
/// libnice does not tell. The address, if there is one, is given back at once.
///
/// Blocks, ten seconds at most: for a thread of its own.
struct RelayCheck {
  private static let limit = 5
  private static let maximumMessage = 2048

  private enum Attribute {
    static let userName: UInt16 = 0x0006
    static let messageIntegrity: UInt16 = 0x0008
    static let errorCode: UInt16 = 0x0009
    static let realm: UInt16 = 0x0014
    static let nonce: UInt16 = 0x0015
    static let requestedTransport: UInt16 = 0x0019
    static let lifetime: UInt16 = 0x000D
  }

  private enum Method {
    static let allocate: UInt16 = 0x0003
    static let refresh: UInt16 = 0x0004
    static let success: UInt16 = 0x0100
    static let error: UInt16 = 0x0110
  }

  private static let magic: UInt32 = 0x2112_A442

  /// A server is asked no more often than this, however many peer connections find it wanting.
  private static let pause = Duration.seconds(60)
  private static let maximumRemembered = 64
  private static let asked = Lock<[ICEServerURL: Instant]>([:])

  static func isDue(_ url: ICEServerURL, at now: Instant) -> Bool {
    asked.withLock { asked in
      asked = asked.filter { now - $0.value < pause }
      guard asked[url] == nil, asked.count < maximumRemembered else { return false }
      asked[url] = now
      return true
    }
  }

  let url: ICEServerURL
  let userName: String
  let credential: String
  let trust: RelayTrust
  /// For an answer over UDP, in milliseconds (RFC 8489, 6.2.1).
  var waits: [Int32] = [500, 1000, 2000]

  /// Why there is no relay address, for people; nil if there is one.
  func reason() -> String? {
    BlockingSocket.blockBrokenPipes()
    do throws(BlockingSocket.Failure) {
      let socket = try BlockingSocket(
        to: url.host, port: url.port, isStream: url.transport == .tcp, limit: Self.limit)
      if url.scheme == .turns {
        let session = try TLSSession(socket.descriptor, to: url.host, trust: trust)
        return try allocate { (message) throws(BlockingSocket.Failure) in
          guard session.write(message[...]) else { throw .init(text: "it hung up") }
          return try Self.readStream { session.read(&$0) }
        }
      }
      let descriptor = socket.descriptor
      if url.transport == .udp {
        return try allocate { (message) throws(BlockingSocket.Failure) in
          try askByDatagram(descriptor, message)
        }
      }
      return try allocate { (message) throws(BlockingSocket.Failure) in
        guard send(descriptor, message, message.count, Int32(MSG_NOSIGNAL)) == message.count else {
          throw .init(text: "it hung up")
        }
        return try Self.readStream { buffer in
          let count = recv(descriptor, &buffer, buffer.count, 0)
          return count > 0 ? count : nil
        }
      }
    } catch {
      return error.text
    }
  }

  private typealias Ask = ([UInt8]) throws(BlockingSocket.Failure) -> [UInt8]

  private func allocate(_ ask: Ask) throws(BlockingSocket.Failure) -> String? {
    // UDP to the peers.
    let transport: [(UInt16, [UInt8])] = [(Attribute.requestedTransport, [17, 0, 0, 0])]
    let first = try Answer(try ask(Self.message(Method.allocate, transport, key: nil)))
    guard let error = first.error else { return nil }
    guard error.code == 401, let realm = first[Attribute.realm], let nonce = first[Attribute.nonce] else {
      return error.text
    }
    let name = String(decoding: realm, as: UTF8.self)
    guard let key = Self.key("\(userName):\(name):\(credential)") else { return "OpenSSL has no MD5" }
    let who: [(UInt16, [UInt8])] = [
      (Attribute.userName, Array(userName.utf8)), (Attribute.realm, realm), (Attribute.nonce, nonce),
    ]
    let second = try Answer(try ask(Self.message(Method.allocate, transport + who, key: key)))
    if let error = second.error {
      return error.code == 401 ? "it refuses the user name or password (\(error.text))" : error.text
    }
    _ = try? ask(Self.message(Method.refresh, [(Attribute.lifetime, [0, 0, 0, 0])] + who, key: key))
    return nil
  }

  // MARK: Messages (RFC 8489, 5)

  private static func message(
    _ method: UInt16, _ attributes: [(type: UInt16, value: [UInt8])], key: [UInt8]?
  ) -> [UInt8] {
    func bytes(_ number: UInt16) -> [UInt8] { [UInt8(number >> 8), UInt8(number & 0xFF)] }
    var body: [UInt8] = []
    for (type, value) in attributes {
      let value = value.prefix(763)
      body += bytes(type) + bytes(UInt16(value.count)) + value
      body += [UInt8](repeating: 0, count: -value.count & 3)
    }
    var transaction: [UInt8] = []
    for _ in 0..<12 { transaction.append(UInt8.random(in: 0...255)) }
    // The length covers the integrity that follows.
    let length = UInt16(body.count + (key == nil ? 0 : 24))
    let cookie = [UInt8(0x21), 0x12, 0xA4, 0x42]
    var message = bytes(method) + bytes(length) + cookie + transaction + body
    guard let key else { return message }
    var digest = [UInt8](repeating: 0, count: 20)
    var count: UInt32 = 0
    _ = HMAC(EVP_sha1(), key, Int32(key.count), message, message.count, &digest, &count)
    message += bytes(Attribute.messageIntegrity) + bytes(20) + digest
    return message
  }

  /// The long-term key (RFC 8489, 9.2.2).
  private static func key(_ text: String) -> [UInt8]? {
    var digest = [UInt8](repeating: 0, count: 16)
    let bytes = Array(text.utf8)
    return EVP_Digest(bytes, bytes.count, &digest, nil, EVP_md5(), nil) == 1 ? digest : nil
  }

  private struct Answer {
    private var attributes: [UInt16: [UInt8]] = [:]
    private(set) var error: (code: Int, text: String)?

    init(_ bytes: [UInt8]) throws(BlockingSocket.Failure) {
      let type: UInt16? = bytes.withUnsafeBytes { memory in
        var reader = ByteReader(memory)
        guard let type = reader.uint16(), reader.uint16() != nil, reader.uint32() == RelayCheck.magic,
          reader.skip(12)
        else { return nil }
        while let name = reader.uint16(), let count = reader.uint16(), let value = reader.slice(Int(count)) {
          attributes[name] = Array(value)
          _ = reader.skip(-Int(count) & 3)
        }
        return type
      }
      guard let type, type & Method.success != 0 else { throw .init(text: "what answers is no TURN server") }
      guard type & Method.error == Method.error else { return }
      let value = attributes[Attribute.errorCode] ?? []
      guard value.count >= 4 else { throw .init(text: "what answers is no TURN server") }
      let code = Int(value[2] & 7) * 100 + Int(value[3])
      // Strangers' text: what could move a cursor is left out.
      let phrase = String(
        decoding: value[4...].prefix(100).filter { (0x20..<0x7F).contains($0) }, as: UTF8.self)
      error = (code, phrase.isEmpty ? "error \(code)" : "\(code) \(phrase)")
    }

    subscript(name: UInt16) -> [UInt8]? { attributes[name] }
  }

  // MARK: Transports

  private func askByDatagram(
    _ descriptor: Int32, _ message: [UInt8]
  ) throws(BlockingSocket.Failure) -> [UInt8] {
    var buffer = [UInt8](repeating: 0, count: Self.maximumMessage)
    for wait in waits {
      guard send(descriptor, message, message.count, Int32(MSG_NOSIGNAL)) == message.count else {
        throw .init(text: String(cString: strerror(errno)))
      }
      var ready = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
      guard poll(&ready, 1, wait) > 0 else { continue }
      let count = recv(descriptor, &buffer, buffer.count, 0)
      guard count > 0 else { throw .init(text: String(cString: strerror(errno))) }
      // An answer to an earlier question, or to nobody's.
      guard count >= 20, buffer[8..<20] == message[8..<20] else { continue }
      return Array(buffer[..<count])
    }
    throw .init(text: "no answer")
  }

  /// - Parameter read: fills a buffer with what there is; nil at the end or after the limit.
  private static func readStream(
    _ read: (inout [UInt8]) -> Int?
  ) throws(BlockingSocket.Failure) -> [UInt8] {
    var message: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: maximumMessage)
    while message.count < 20 || message.count < 20 + Int(message[2]) << 8 + Int(message[3]) {
      guard let count = read(&buffer), message.count + count <= maximumMessage else {
        throw .init(text: "no answer")
      }
      message += buffer[..<count]
    }
    return message
  }
}

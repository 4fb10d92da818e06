import Base
import Glibc
import Testing

@testable import Peer

/// TURN servers that give no address, by what they are asked and answer.
@Suite struct RelayCheckTests {
  /// Answers datagrams on a port of its own, for at most so many questions.
  private final class Server: Sendable {
    let port: UInt16
    private let descriptor: Int32
    private let questions = Lock<[[UInt8]]>([])

    var asked: [[UInt8]] { questions.withLock { $0 } }

    init(_ answers: @escaping @Sendable (_ number: Int, _ question: [UInt8]) -> [UInt8]?) throws {
      let descriptor = socket(AF_INET, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
      try #require(descriptor >= 0)
      var address = sockaddr_in()
      address.sin_family = sa_family_t(AF_INET)
      address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
      var size = socklen_t(MemoryLayout<sockaddr_in>.size)
      let bound = withUnsafeMutablePointer(to: &address) { pointer in
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
          bind(descriptor, $0, size) == 0 && getsockname(descriptor, $0, &size) == 0
        }
      }
      try #require(bound)
      port = UInt16(bigEndian: address.sin_port)
      self.descriptor = descriptor
      _ = MediaThread(name: "turn server") { [self] in
        var buffer = [UInt8](repeating: 0, count: 2048)
        while true {
          var from = sockaddr_in()
          var size = socklen_t(MemoryLayout<sockaddr_in>.size)
          withUnsafeMutablePointer(to: &from) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { from in
              let count = recvfrom(descriptor, &buffer, buffer.count, 0, from, &size)
              guard count > 0 else { return }
              let question = Array(buffer[..<count])
              let number = questions.withLock { questions in
                questions.append(question)
                return questions.count
              }
              guard count > 1, let answer = answers(number, question) else { return }
              _ = sendto(descriptor, answer, answer.count, 0, from, size)
            }
          }
          if questions.withLock({ $0.last?.count == 1 }) { break }
        }
        close(descriptor)
      }
    }

    /// Ends its thread by a datagram of one octet.
    func stop() {
      let sender = socket(AF_INET, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
      defer { close(sender) }
      var address = sockaddr_in()
      address.sin_family = sa_family_t(AF_INET)
      address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
      address.sin_port = port.bigEndian
      withUnsafePointer(to: &address) { pointer in
        _ = pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
          sendto(sender, [0], 1, 0, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
        }
      }
    }
  }

  private static func answer(_ type: UInt16, to question: [UInt8], _ attributes: [(UInt16, [UInt8])])
    -> [UInt8]
  {
    func bytes(_ number: UInt16) -> [UInt8] { [UInt8(number >> 8), UInt8(number & 0xFF)] }
    var body: [UInt8] = []
    for (name, value) in attributes {
      body +=
        bytes(name) + bytes(UInt16(value.count)) + value + [UInt8](repeating: 0, count: -value.count & 3)
    }
    return bytes(type) + bytes(UInt16(body.count)) + question[4..<20] + body
  }

  private static func error(_ code: Int, _ phrase: String, to question: [UInt8]) -> [UInt8] {
    answer(
      0x0113, to: question,
      [
        (9, [0, 0, UInt8(code / 100), UInt8(code % 100)] + Array(phrase.utf8)), (0x14, Array("realm".utf8)),
        (0x15, Array("nonce".utf8)),
      ])
  }

  private func check(_ port: UInt16, host: String = "127.0.0.1", transport: String = "udp") throws
    -> RelayCheck
  {
    let url = try #require(ICEServerURL("turn:\(host):\(port)?transport=\(transport)"))
    return RelayCheck(url: url, userName: "ann", credential: "a secret", trust: RelayTrust())
  }

  private func outcome(
    _ answers: @escaping @Sendable (_ number: Int, _ question: [UInt8]) -> [UInt8]?
  ) throws -> (String?, [[UInt8]]) {
    let server = try Server(answers)
    defer { server.stop() }
    let reason = try check(server.port).reason()
    return (reason, server.asked)
  }

  @Test func aServerThatGivesAnAddressIsFine() throws {
    let (reason, asked) = try outcome { number, question in
      number == 1 ? Self.error(401, "Unauthorized", to: question) : Self.answer(0x0103, to: question, [])
    }
    #expect(reason == nil)
    // Asked twice, and given back what it gave.
    #expect(asked.map { Array($0.prefix(2)) } == [[0, 3], [0, 3], [0, 4]])
    #expect(!asked.contains { String(decoding: $0, as: UTF8.self).contains("a secret") })
  }

  @Test func wrongCredentialsAreNamed() throws {
    let (reason, _) = try outcome { _, question in Self.error(401, "Unauthorized", to: question) }
    #expect(reason == "it refuses the user name or password (401 Unauthorized)")
  }

  @Test func otherRefusalsAreRepeatedWithoutWhatIsNotText() throws {
    let (quota, _) = try outcome { _, question in Self.error(486, "Quota\u{1B}[2J reached", to: question) }
    #expect(quota == "486 Quota[2J reached")
    let (mute, _) = try outcome { _, question in Self.error(508, "", to: question) }
    #expect(mute == "error 508")
  }

  @Test func whatIsNoTURNServerIsSaid() throws {
    for answer in [[UInt8]("HTTP/1.1 400 Bad Request\r\n\r\n".utf8), [UInt8](repeating: 0xFF, count: 300)] {
      let (reason, _) = try outcome { _, question in
        var answer = answer
        answer.replaceSubrange(8..<20, with: question[8..<20])
        return answer
      }
      #expect(reason == "what answers is no TURN server")
    }
    // A binding server that knows no allocation.
    let (reason, _) = try outcome { _, question in
      Self.answer(0x0113, to: question, [])
    }
    #expect(reason == "what answers is no TURN server")
  }

  @Test func whereNobodyAnswersIsSaid() throws {
    #expect(try check(9, host: "nowhere.invalid").reason()?.hasPrefix("its name: ") == true)
    // A port that was free a moment ago.
    let server = try Server { _, _ in nil }
    server.stop()
    #expect(try check(server.port, transport: "tcp").reason() == "Connection refused")
    let silent = try Server { _, _ in nil }
    defer { silent.stop() }
    var patient = try check(silent.port)
    patient.waits = [10, 20]
    #expect(patient.reason() == "no answer")
  }
}

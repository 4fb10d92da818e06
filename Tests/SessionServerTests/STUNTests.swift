import Glibc
import OpenTokProtocol
import Testing

@testable import SessionServer

@Suite struct STUNTests {
  // Request and mapped addresses of RFC 5769, 2.1 to 2.3: 192.0.2.1:32853 and the IPv6 one.
  private let transaction: [UInt8] = [0xb7, 0xe7, 0xa7, 0x01, 0xbc, 0x34, 0xd6, 0x86, 0xfa, 0x87, 0xdf, 0xae]
  private var request: [UInt8] { [0, 1, 0, 0, 0x21, 0x12, 0xA4, 0x42] + transaction }

  @Test func answersWithTheMaskedAddress() {
    #expect(
      STUNResponder.answer(to: request, address: [192, 0, 2, 1], port: 32853)
        == [0x01, 0x01, 0, 12, 0x21, 0x12, 0xA4, 0x42] + transaction
        + [0, 0x20, 0, 8, 0, 1, 0xa1, 0x47, 0xe1, 0x12, 0xa6, 0x43])
    let address = Hexadecimal.bytes("20010db8123456780011223344556677") ?? []
    #expect(
      STUNResponder.answer(to: request, address: address, port: 32853)?.suffix(20)
        == [0, 2, 0xa1, 0x47] + (Hexadecimal.bytes("0113a9faa5d3f179bc25f4b5bed2b9d9") ?? []))
  }

  /// RFC 3489, whose transaction ids take the cookie's place.
  @Test func answersOldClientsWithThePlainAddress() {
    let id: [UInt8] = [1, 2, 3, 4] + transaction
    #expect(
      STUNResponder.answer(to: [0, 1, 0, 0] + id, address: [192, 0, 2, 1], port: 32853)
        == [0x01, 0x01, 0, 12] + id + [0, 1, 0, 8, 0, 1, 0x80, 0x55, 192, 0, 2, 1])
  }

  @Test func ignoresEverythingElse() {
    let address: [UInt8] = [127, 0, 0, 1]
    for count in 0..<request.count {
      #expect(STUNResponder.answer(to: Array(request[..<count]), address: address, port: 1) == nil)
    }
    for (index, value) in [(0, 1), (1, 0x11), (2, 1), (3, 4)] as [(Int, UInt8)] {
      var other = request
      other[index] = value
      #expect(STUNResponder.answer(to: other, address: address, port: 1) == nil, "byte \(index)")
    }
    #expect(STUNResponder.answer(to: request, address: [1, 2, 3], port: 1) == nil)
    var long = request + [UInt8](repeating: 0, count: 8)
    long[3] = 8
    #expect(STUNResponder.answer(to: long, address: address, port: 1)?.count == 32)
  }

  @Test func anIPv4AddressStaysOneOnASocketForBothFamilies() {
    var storage = sockaddr_storage()
    storage.ss_family = sa_family_t(AF_INET6)
    withUnsafeMutableBytes(of: &storage) { bytes in
      bytes[2] = 0x80
      bytes[3] = 0x55
      bytes[18] = 0xFF
      bytes[19] = 0xFF
      bytes[20] = 192
      bytes[22] = 2
      bytes[23] = 1
    }
    #expect(SocketAddress.parts(of: storage)?.address == [192, 0, 2, 1])
    #expect(SocketAddress.parts(of: storage)?.port == 0x8055)
    withUnsafeMutableBytes(of: &storage) { $0[19] = 0 }
    #expect(SocketAddress.parts(of: storage)?.address.count == 16)
  }

  @Test func theServerAnswersOnItsPortByUDP() async throws {
    try await withSessionServer { server in
      let credentials = try server.json("GET", "/session")
      let id = try #require(credentials["sessionId"]?.stringValue)
      let token = try #require(credentials["token"]?.stringValue)
      let info = try SessionInfo(server.json("GET", "/session/\(id)", headers: ["X-OPENTOK-AUTH": token]))
      #expect(info.iceServers.flatMap(\.urls) == ["stun:127.0.0.1:\(server.port)"])

      let socket = socket(AF_INET, Int32(SOCK_DGRAM.rawValue), 0)
      defer { close(socket) }
      var limit = timeval(tv_sec: 60, tv_usec: 0)
      setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
      var name = sockaddr_in()
      name.sin_family = sa_family_t(AF_INET)
      name.sin_port = in_port_t(server.port).bigEndian
      name.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
      let size = socklen_t(MemoryLayout<sockaddr_in>.size)
      let connected = withUnsafeBytes(of: &name) { bytes in
        bytes.withMemoryRebound(to: sockaddr.self) { connect(socket, $0.baseAddress, size) }
      }
      #expect(connected == 0)
      #expect(send(socket, [9, 9, 9], 3, 0) == 3)
      #expect(send(socket, request, request.count, 0) == 20)
      var answer = [UInt8](repeating: 0, count: 100)
      let count = recv(socket, &answer, answer.count, 0)
      let own = UInt16(try #require(SocketAddress.port(of: socket)))
      let expected = STUNResponder.answer(to: request, address: [127, 0, 0, 1], port: own)
      #expect(Array(answer[..<max(0, count)]) == expected)
    }
  }
}

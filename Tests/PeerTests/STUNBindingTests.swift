import Base
import Glibc
import Testing

@testable import Peer

@Suite struct STUNBindingTests {
  private func binding() -> STUNBinding {
    var generator = SeededGenerator(seed: 1)
    return STUNBinding(using: &generator)
  }

  private func response(_ binding: STUNBinding, _ attributes: [UInt8]) -> [UInt8] {
    [0x01, 0x01, 0x00, UInt8(attributes.count)] + binding.request[4...] + attributes
  }

  private func address(_ binding: STUNBinding, _ bytes: [UInt8]) -> String? {
    bytes.withUnsafeBytes { binding.address(in: $0) }
  }

  @Test func theAddressIsRead() {
    let binding = binding()
    #expect(binding.request.count == 20)
    // RFC 5769, 2.2: 192.0.2.1 port 32853, under the same cookie; behind an attribute that needs padding.
    let hidden: [UInt8] = [0x00, 0x20, 0x00, 0x08, 0x00, 0x01, 0xA1, 0x47, 0xE1, 0x12, 0xA6, 0x43]
    let software: [UInt8] = [0x80, 0x22, 0x00, 0x03, 0x61, 0x62, 0x63, 0x00]
    #expect(address(binding, response(binding, software + hidden)) == "192.0.2.1:32853")
    let plain: [UInt8] = [0x00, 0x01, 0x00, 0x08, 0x00, 0x01, 0x01, 0x02, 10, 0, 0, 7]
    #expect(address(binding, response(binding, plain)) == "10.0.0.7:258")
  }

  @Test func whatIsNoAnswerIsNone() {
    let binding = binding()
    let good = response(binding, [0x00, 0x01, 0x00, 0x08, 0x00, 0x01, 0x01, 0x02, 10, 0, 0, 7])
    for count in 0..<good.count { #expect(address(binding, Array(good[..<count])) == nil) }
    var other = good
    other[10] ^= 1
    #expect(address(binding, other) == nil, "of another request")
    #expect(address(binding, binding.request) == nil)
    #expect(address(binding, response(binding, [0x00, 0x01, 0x00, 0xFF])) == nil)
    #expect(address(binding, response(binding, [0x00, 0x01, 0x00, 0x02, 0x00, 0x09, 0x00, 0x00])) == nil)
  }

  @Test func aPortWhereNobodyIsIsSaid() throws {
    // A TCP port that was ours a moment ago.
    let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var name = sockaddr_in()
    name.sin_family = sa_family_t(AF_INET)
    name.sin_addr.s_addr = inet_addr("127.0.0.1")
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    let bound = withUnsafeMutablePointer(to: &name) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(listener, $0, size) == 0 && getsockname(listener, $0, &size) == 0
      }
    }
    #expect(bound)
    let port = UInt16(bigEndian: name.sin_port)
    close(listener)
    let tcp = try #require(ICEServerURL("turn:127.0.0.1:\(port)?transport=tcp"))
    #expect(throws: ServerProbe.Failure.cannotConnect("Connection refused")) {
      try ServerProbe.ask(tcp, timeout: .seconds(60)).get()
    }
  }
}

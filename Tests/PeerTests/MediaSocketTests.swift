import Base
import CLinux
import Glibc
import SDP
import TestSupport
import Testing

@testable import Peer

/// A UDP socket on a loopback port of its own.
private final class Port {
  let descriptor: Int32
  let isIPv6: Bool

  init(isIPv6: Bool) {
    self.isIPv6 = isIPv6
    descriptor = socket(isIPv6 ? AF_INET6 : AF_INET, Int32(SOCK_DGRAM.rawValue) | O_NONBLOCK, 0)
    if isIPv6 {
      var name = sockaddr_in6()
      name.sin6_family = sa_family_t(AF_INET6)
      name.sin6_addr = in6addr_loopback
      bind(to: &name, MemoryLayout<sockaddr_in6>.size)
    } else {
      var name = sockaddr_in()
      name.sin_family = sa_family_t(AF_INET)
      name.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
      bind(to: &name, MemoryLayout<sockaddr_in>.size)
    }
  }

  deinit { close(descriptor) }

  private func bind(to name: UnsafeRawPointer, _ size: Int) {
    #expect(Glibc.bind(descriptor, name.assumingMemoryBound(to: sockaddr.self), socklen_t(size)) == 0)
  }

  var destination: MediaSocket.Destination {
    MediaSocket.Destination { storage in
      var size = socklen_t(128)
      getsockname(descriptor, storage.assumingMemoryBound(to: sockaddr.self), &size)
    }
  }

  func send(_ bytes: [UInt8], to destination: MediaSocket.Destination) {
    #expect(
      withUnsafeBytes(of: destination.storage) {
        otchat_send(descriptor, bytes, Int32(bytes.count), $0.baseAddress)
      })
  }

  /// First bytes of what has arrived.
  func received() -> [UInt8] {
    var firsts: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 100)
    while recv(descriptor, &buffer, buffer.count, 0) > 0 { firsts.append(buffer[0]) }
    return firsts
  }
}

@Suite @NetworkActor struct MediaSocketTests {
  private final class Log {
    var datagrams: [[UInt8]] = []
    var rounds = 0
  }

  private func makeSocket(beside port: Port, to other: Port, _ log: Log, knows: Port? = nil) -> MediaSocket? {
    let known = knows?.destination.address
    return MediaSocket(
      beside: port.descriptor, to: other.destination, isKnown: { $0 == known },
      received: { datagram, _ in log.datagrams.append(Array(datagram)) }, drained: { _ in log.rounds += 1 })
  }

  @Test(arguments: [false, true]) func takesWhatIsNotForICE(isIPv6: Bool) async throws {
    let (port, other) = (Port(isIPv6: isIPv6), Port(isIPv6: isIPv6))
    let log = Log()
    let socket = try #require(makeSocket(beside: port, to: other, log))
    let mine: [UInt8] = [20, 22, 63, 128, 144, 191]
    let notMine: [UInt8] = [0, 1, 3, 19, 64, 79, 127, 192, 255]
    for first in notMine + mine { other.send([first, 7], to: port.destination) }
    try await eventually("media") { log.datagrams.count >= mine.count }
    #expect(log.datagrams == mine.map { [$0, 7] })
    #expect(port.received() == notMine)
    socket.close()
    for first in mine { other.send([first, 7], to: port.destination) }
    #expect(port.received() == mine)
    #expect(log.datagrams.count == mine.count)
  }

  @Test func takesManyAtATime() async throws {
    let (port, other) = (Port(isIPv6: false), Port(isIPv6: false))
    let log = Log()
    let socket = try #require(makeSocket(beside: port, to: other, log))
    // This is the thread that would receive them.
    for number in 0..<40 { other.send([0x80, UInt8(number)], to: port.destination) }
    try await eventually("all") { log.datagrams.count == 40 }
    #expect(log.datagrams == (0..<40).map { [0x80, $0] })
    #expect(log.rounds == 3)
    socket.close()
  }

  @Test func sendsFromThePort() throws {
    let (port, other) = (Port(isIPv6: true), Port(isIPv6: true))
    let socket = try #require(makeSocket(beside: port, to: other, Log()))
    #expect(([0x90, 1] as [UInt8]).withUnsafeBytes { socket.send($0) })
    var from = sockaddr_storage()
    var size = socklen_t(MemoryLayout<sockaddr_storage>.size)
    var buffer = [UInt8](repeating: 0, count: 10)
    let count = withUnsafeMutableBytes(of: &from) { bytes in
      recvfrom(
        other.descriptor, &buffer, buffer.count, 0, bytes.baseAddress?.assumingMemoryBound(to: sockaddr.self),
        &size)
    }
    #expect(count == 2)
    #expect(withUnsafeBytes(of: from) { otchat_address_of($0.baseAddress) } == port.destination.address)
    socket.close()
  }

  @Test func strangersAreNotHeard() async throws {
    let ports = (0..<4).map { _ in Port(isIPv6: false) }
    let log = Log()
    let socket = try #require(makeSocket(beside: ports[0], to: ports[1], log, knows: ports[2]))
    for _ in 0..<2 {
      for (index, port) in ports.enumerated().dropFirst().reversed() {
        port.send([0x80, UInt8(index)], to: ports[0].destination)
      }
    }
    try await eventually("the known ones") { log.datagrams.count >= 4 }
    #expect(log.datagrams == [[0x80, 2], [0x80, 1], [0x80, 2], [0x80, 1]])
    socket.close()
  }

  @Test func closedFromWithinItsCallItIsSilent() async throws {
    let (port, other) = (Port(isIPv6: false), Port(isIPv6: false))
    var socket: MediaSocket?
    var count = 0
    socket = MediaSocket(
      beside: port.descriptor, to: other.destination, isKnown: { _ in false },
      received: { _, _ in
        count += 1
        socket?.close()
        socket = nil
      }, drained: { _ in })
    for _ in 0..<3 { other.send([0x80], to: port.destination) }
    try await eventually("one") { count > 0 }
    #expect(count == 1)
    other.send([0x80], to: port.destination)
    #expect(port.received() == [0x80])
  }
}

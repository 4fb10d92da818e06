import Base
import TestSupport
import Testing

@testable import SessionServer

@Suite struct WebServerSocketTests {
  typealias Frame = WebSocketClient.Frame
  typealias Opcode = WebSocketClient.Opcode

  @Test func exchangesBinaryMessages() async throws {
    try await withServer { host, port in
      let client = try WebSocketClient(port: port, path: "/socket?socketId=a-b&reconnect=true")
      // The answer to the sample key of RFC 6455, 1.3.
      #expect(client.handshake.contains("s3pPLMBiTxaQ9kYGzzhZRbK+xOo="))
      let opened = await host.opened
      #expect(opened.map(\.path) == ["/socket"])
      #expect(opened.first?.query("socketId") == "a-b")
      #expect(opened.first?.query("reconnect") == "true")
      for count in [4, 125, 126, 1024, 4097, 65535, 65536, 200_000] {
        let message = [UInt8]("echo".utf8) + (4..<count).map { UInt8(truncatingIfNeeded: $0 &* 7) }
        try client.send(message)
        #expect(isSame(try client.receiveMessage(), message), "\(count) bytes")
      }
    }
  }

  /// What the native SDK sends: an empty extensions header and an origin that is no URL.
  @Test func takesTheHandshakeOfTheNativeClient() async throws {
    try await withServer { _, port in
      let client = try WebSocketClient(
        port: port, path: "/socket", headers: "Sec-WebSocket-Extensions: \r\nOrigin: localhost\r\n")
      try client.send([UInt8]("echo native".utf8))
      #expect(try client.receiveMessage() == [UInt8]("echo native".utf8))
      let browser = try WebSocketClient(
        port: port, path: "/socket",
        headers:
          "Sec-WebSocket-Extensions: permessage-deflate; client_max_window_bits\r\nOrigin: http://a.test\r\n")
      #expect(!browser.handshake.lowercased().contains("extensions"))
      try browser.send([UInt8]("echo web".utf8))
      #expect(try browser.receiveMessage() == [UInt8]("echo web".utf8))
    }
  }

  @Test func putsFragmentsTogether() async throws {
    try await withServer { host, port in
      let client = try WebSocketClient(port: port, path: "/socket")
      try client.send(Frame(final: false, opcode: Opcode.binary, payload: [UInt8]("ech".utf8)))
      try client.send(Frame(opcode: Opcode.ping, payload: [1, 2]))
      try client.send(Frame(final: false, opcode: Opcode.continuation, payload: []))
      try client.send(Frame(opcode: Opcode.continuation, payload: [UInt8]("o!".utf8)))
      #expect(try client.receiveMessage() == [UInt8]("echo!".utf8))
      try client.send([])
      try client.send([UInt8]("echo".utf8))
      #expect(try client.receiveMessage() == [UInt8]("echo".utf8))
      #expect(await host.messages.count == 3)
    }
  }

  @Test func closesOnWhatItDoesNotTake() async throws {
    try await withServer({ $0.limits.messageBytes = 10_000 }) { host, port in
      let text = try WebSocketClient(port: port, path: "/socket")
      try text.send(Frame(opcode: Opcode.text, payload: [UInt8]("hello".utf8)))
      #expect(try text.receiveClose() == 1003)

      let big = try WebSocketClient(port: port, path: "/socket")
      try big.send([UInt8](repeating: 7, count: 10_000))
      try big.send(Frame(final: false, opcode: Opcode.binary, payload: [UInt8](repeating: 7, count: 9_999)))
      try big.send(Frame(opcode: Opcode.continuation, payload: [7, 7]))
      #expect(try big.receiveClose() == 1009)

      let announced = try WebSocketClient(port: port, path: "/socket")
      // The header of a message of 2^62 bytes, and its first ones.
      try announced.connection.send([0x82, 0xFF, 0x40, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6])
      #expect(try announced.receiveClose() == 1009)

      let overflowing = try WebSocketClient(port: port, path: "/socket")
      // After one byte the header of a continuation of 2^63 - 1 bytes: the sum is no Int.
      try overflowing.send(Frame(final: false, opcode: Opcode.binary, payload: [7]))
      try overflowing.connection.send(
        [0x80, 0xFF, 0x7F] + [UInt8](repeating: 0xFF, count: 7) + [1, 2, 3, 4, 5, 6])
      #expect(try overflowing.receiveClose() == 1009)
      try await eventually("all are closed") { await host.ends.count == 4 }
      #expect(await host.ends == [.closedHere, .closedHere, .closedHere, .closedHere])
      #expect(await host.messages.count == 1)
      let next = try WebSocketClient(port: port, path: "/socket")
      try next.send([UInt8]("echo".utf8))
      #expect(try next.receiveMessage() == [UInt8]("echo".utf8))
    }
  }

  @Test func tellsLeavingFromLosing() async throws {
    try await withServer { host, port in
      for code in [1000, 1001, nil, 4001] {
        let client = try WebSocketClient(port: port, path: "/socket")
        try client.sendClose(code: code)
        #expect(try client.receiveClose() == code ?? 1005)
      }
      let cut = try WebSocketClient(port: port, path: "/socket")
      cut.connection.reset()
      try await eventually("the reset is seen") { await host.ends.count == 5 }
      do { _ = try WebSocketClient(port: port, path: "/socket") }
      try await eventually("the end without a Close frame is seen") { await host.ends.count == 6 }
      #expect(
        await host.ends == [
          .closedByPeer(1000), .closedByPeer(1001), .closedByPeer(nil), .closedByPeer(4001), .lost, .lost,
        ])
    }
  }

  @Test func closesWithACodeAfterWhatWasSent() async throws {
    try await withServer { host, port in
      let client = try WebSocketClient(port: port, path: "/socket")
      try client.send([UInt8]("echo 1".utf8))
      #expect(try client.receiveMessage() == [UInt8]("echo 1".utf8))
      await host.send([9, 9])
      await host.closeSockets(code: 1001)
      #expect(try client.receiveMessage() == [9, 9])
      #expect(try client.receiveClose() == 1001)
      try await eventually("it is closed") { await host.ends == [.closedHere] }
    }
  }

  @Test func refusesWhatIsNoWebSocketOfIts() async throws {
    try await withServer { _, port in
      let client = try LoopbackClient(port: port)
      let answer = try client.request(
        "GET", "/elsewhere",
        headers: [
          "Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
          "Sec-WebSocket-Version": "13",
        ])
      #expect(answer.status == 404)
      #expect(answer.text.contains("no WebSocket here"))
      #expect(try client.receiveAll() == [])
    }
  }

  @Test func cutsOffASlowReader() async throws {
    try await withServer({ $0.limits.queuedBytes = 1 << 20 }) { host, port in
      let slow = try WebSocketClient(port: port, path: "/socket", receiveBuffer: 4096)
      let good = try WebSocketClient(port: port, path: "/socket")
      let message = [UInt8](repeating: 3, count: 50_000)
      // The kernel's buffers take some megabytes before anything waits here.
      for _ in 0..<20 {
        let most = await host.flood(message, times: 10)
        #expect(most <= (1 << 20) + message.count + WebSocket.bytesAroundMessage)
        for _ in 0..<10 { #expect(isSame(try good.receiveMessage(), message)) }
        if await host.ends.count == 1 { break }
      }
      try await eventually("the slow reader is cut off") { await host.ends == [.lost] }
      try good.send([UInt8]("echo still here".utf8))
      #expect(try good.receiveMessage() == [UInt8]("echo still here".utf8))
      _ = try slow.connection.receiveAll()
    }
  }

  /// Each takes far more memory than its bytes.
  @Test func cutsOffWhoLeavesManySmallMessagesUnread() async throws {
    try await withServer({ $0.limits.queuedBytes = 1 << 20 }) { host, port in
      let slow = try WebSocketClient(port: port, path: "/socket")
      let most = await host.flood([1, 2, 3, 4], times: 20_000)
      #expect(most <= (1 << 20) + 4 + WebSocket.bytesAroundMessage)
      try await eventually("it is cut off") { await host.ends == [.lost] }
      #expect(try slow.connection.receiveAll().count < 20_000 * 6)
    }
  }

  @Test func findsSilentlyLostPeers() async throws {
    try await withServer({ $0.limits.pingSeconds = 1 }) { host, port in
      let silent = try WebSocketClient(port: port, path: "/socket")
      // It is pinged after one second, and as it does not answer given up after two.
      #expect(try silent.connection.receive(2)[0] == 0x80 | Opcode.ping)
      try await eventually("it is given up") { await host.ends == [.lost] }
    }
  }

  @Test func servesTwoHundred() async throws {
    try await withServer { host, port in
      let clients = try (0..<200).map { _ in try WebSocketClient(port: port, path: "/socket") }
      #expect(await host.connectionCount == 200)
      await host.send([UInt8]("to all".utf8))
      for client in clients {
        #expect(try client.receiveMessage() == [UInt8]("to all".utf8))
        try client.send([UInt8]("echo".utf8))
      }
      for client in clients { #expect(try client.receiveMessage() == [UInt8]("echo".utf8)) }
    }
  }
}

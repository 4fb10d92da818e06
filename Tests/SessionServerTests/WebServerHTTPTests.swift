import Base
import Glibc
import TestSupport
import Testing

@testable import SessionServer

@Suite struct WebServerHTTPTests {
  @Test func answersWithCORSAndKeepsTheConnection() async throws {
    try await withServer { _, port in
      let client = try LoopbackClient(port: port)
      for _ in 0..<3 {
        let answer = try client.request("GET", "/echo?a=1&b=x%26y%20z&c")
        #expect(answer.status == 200)
        #expect(answer.text == "GET /echo [a=1|b=x&y z|c=] [] ")
        #expect(answer.headers["access-control-allow-origin"] == "*")
        #expect(answer.headers["access-control-allow-headers"] == "*")
        #expect(answer.headers["content-type"] == "text/plain")
        #expect(answer.headers["server"] == "otchat")
      }
    }
  }

  @Test func decodesPathsAndSeesOwnHeaders() async throws {
    try await withServer { _, port in
      let client = try LoopbackClient(port: port)
      #expect(try client.request("GET", "/caf%C3%A9").text == "GET /café [] [] ")
      let token = "T1==" + String(repeating: "abcDEF123+/", count: 300)
      let answer = try client.request(
        "GET", "/echo",
        headers: [
          "X-OPENTOK-AUTH": token, "X-TB-TOKEN-AUTH": "b", "X-TB-PARTNER-AUTH": "k:s", "X-TB-VERSION": "1",
          "X-Access-Key": "open sesame", "Sec-CH-UA": "\"Not:A-Brand\"", "X-Custom": "x",
        ])
      #expect(
        answer.text
          == "GET /echo [] [x-access-key=open sesame|x-opentok-auth=\(token)|x-tb-partner-auth=k:s|x-tb-token-auth=b] "
      )
    }
  }

  @Test(arguments: ["POST", "PUT", "PATCH", "DELETE"]) func takesBodies(method: String) async throws {
    try await withServer { _, port in
      let client = try LoopbackClient(port: port)
      let body = [UInt8](repeating: 0x62, count: 60_000)
      for _ in 0..<2 {
        let answer = try client.request(method, "/echo", body: body)
        #expect(answer.status == 200)
        #expect(isSame(answer.body, [UInt8]("\(method) /echo [] [] ".utf8) + body))
        #expect(try client.request(method, "/echo", body: []).text == "\(method) /echo [] [] ")
      }
    }
  }

  @Test func takesABodyInPiecesAndPipelinedRequests() async throws {
    try await withServer { _, port in
      let client = try LoopbackClient(port: port)
      try client.send("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Le")
      try await Task.sleep(for: .milliseconds(20))
      try client.send("ngth: 6\r\n\r\nabc")
      try await Task.sleep(for: .milliseconds(20))
      try client.send("defGET /echo?2 HTTP/1.1\r\nHost: a\r\n\r\nGET /echo?3 HTTP/1.1\r\nHost: a\r\n\r\n")
      #expect(try client.answer().text == "POST /echo [] [] abcdef")
      #expect(try client.answer().text == "GET /echo [2=] [] ")
      #expect(try client.answer().text == "GET /echo [3=] [] ")
    }
  }

  @Test(arguments: [60_000, 6_000_000]) func cutsOffWhoSendsABodyForEver(length: Int) async throws {
    try await withServer({ $0.limits.bodyDuration = .milliseconds(50) }) { host, port in
      let client = try LoopbackClient(port: port)
      try client.send("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: \(length)\r\n\r\n")
      try await eventually("it is cut off") {
        try? client.send("a")
        return await host.connectionCount == 0
      }
      #expect(try LoopbackClient(port: port).request("GET", "/echo").status == 200)
    }
  }

  /// Of the second, libwebsockets takes the headers for the body, and never gets to the end of it.
  @Test(arguments: [
    "GET /echo HTTP/1.1\r\nHost: a\r\n\r\n", "POST /echo HTTP/1.1\r\nContent-Length: 2\r\n\r\nab",
  ])
  func refusesABodyThatDoesNotWaitForAnAnswer(first: String) async throws {
    try await withServer { _, port in
      for (method, length) in [("POST", 2), ("POST", 70_000), ("PUT", 2), ("DELETE", 2), ("GET", 2)] {
        let client = try LoopbackClient(port: port)
        let second = "\(method) /echo HTTP/1.1\r\nHost: a\r\nContent-Length: \(length)\r\n\r\ncd"
        try client.send(first + second)
        #expect(try client.answer().status == 200)
        let refusal = try client.answer()
        #expect(refusal.status == 503)
        #expect(refusal.headers["connection"] == "close")
        #expect(try client.receiveAll() == [])
        #expect(try LoopbackClient(port: port).request("GET", "/echo").status == 200)
      }
    }
  }

  /// Somebody who asks for much at once and reads nothing is nobody else's affair.
  @Test func answersOthersWhileOneDoesNotRead() async throws {
    try await withServer { host, port in
      let lazy = try LoopbackClient(port: port)
      let count = 60
      try lazy.send(String(repeating: "GET /big HTTP/1.1\r\nHost: a\r\n\r\n", count: count))
      #expect(try lazy.answer().status == 200)
      for _ in 0..<3 {
        let other = try LoopbackClient(port: port)
        for _ in 0..<3 {
          try other.send("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nab")
          #expect(try other.answer().text == "POST /echo [] [] ab")
        }
      }
      // Nor the server's time: it spins for a moment, and then once a millisecond.
      let (rounds, began) = (host.loop.rounds, MonotonicClock.now())
      try await Task.sleep(for: .milliseconds(300))
      let elapsed = MonotonicClock.now() - began
      #expect(Double(host.loop.rounds - rounds) < 1000 * elapsed.seconds + 300)
      // Who pipelines himself is told so all the same.
      let second = "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nab"
      let hasty = try LoopbackClient(port: port)
      try hasty.send("GET /echo HTTP/1.1\r\nHost: a\r\n\r\n" + second)
      #expect(try hasty.answer().status == 200)
      #expect(try hasty.answer().status == 503)
      for _ in 1..<count { #expect(try lazy.answer().body.count == 300_000) }
    }
  }

  @Test func aPostWithoutLengthHasNoBody() async throws {
    try await withServer { _, port in
      let client = try LoopbackClient(port: port)
      let answer = try client.request("POST", "/echo")
      #expect(answer.text == "POST /echo [] [] ")
      #expect(answer.headers["connection"] == "close")
      #expect(try client.receiveAll() == [])
    }
  }

  @Test func sendsLargeAnswersAndNoBodyForHead() async throws {
    try await withServer { _, port in
      let client = try LoopbackClient(port: port)
      #expect(try client.request("GET", "/big").body.count == 300_000)
      let head = try client.request("HEAD", "/big")
      #expect(head.status == 200)
      #expect(head.headers["content-length"] == "300000")
      #expect(try client.request("GET", "/nothing").status == 204)
      #expect(try client.request("OPTIONS", "/echo").text == "OPTIONS /echo [] [] ")
    }
  }

  @Test func refusesWhatIsTooBigOrUnclear() async throws {
    try await withServer({ $0.limits.bodyBytes = 1000 }) { _, port in
      let client = try LoopbackClient(port: port)
      let tooBig = try client.request("POST", "/echo", body: [UInt8](repeating: 1, count: 100_000))
      #expect(tooBig.status == 413)
      #expect(tooBig.text == #"{"code":413,"message":"the body is too big","error":"the body is too big"}"#)
      #expect(try client.request("GET", "/echo").status == 200, "the connection is still in step")
      #expect(try client.request("GET", "/other").text.contains(#"not \"found\""#))

      let chunked = try LoopbackClient(port: port)
      try chunked.send(
        "POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n")
      #expect(try chunked.answer().status == 411)

      for length in ["-5", "99999999999999999999999", "12x", "0x10"] {
        let liar = try LoopbackClient(port: port)
        try liar.send("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: \(length)\r\n\r\n")
        #expect(try liar.answer().status == 400, "\(length)")
      }
    }
  }

  @Test(arguments: [
    "\r\n\r\n", "GET\r\n\r\n", "BREW /pot HTTP/1.1\r\nHost: a\r\n\r\n",
    "GET /../../etc/passwd HTTP/1.1\r\n\r\n",
    "GET /%00 HTTP/1.1\r\nHost: a\r\n\r\n", "GET /%zz HTTP/1.1\r\nHost: a\r\n\r\n", "\u{16}\u{3}\u{1}\u{2}",
    "GET / HTTP/1.1\r\nHost: a\r\nX-OPENTOK-AUTH: " + String(repeating: "a", count: 40_000) + "\r\n\r\n",
    "POST /echo HTTP/1.1\r\nUpgrade: h2c\r\nConnection: Upgrade\r\nContent-Length: 3\r\n\r\nabc",
    "GET / HTTP/1.1\r\nUpgrade: teapot\r\nConnection: Upgrade\r\n\r\n",
  ]) func outlivesNonsense(request: String) async throws {
    try await withServer { _, port in
      let client = try LoopbackClient(port: port)
      try client.send(request)
      shutdown(client.descriptor, Int32(SHUT_WR))
      let answer = String(decoding: try client.receiveAll(), as: UTF8.self)
      #expect(answer == "" || answer.hasPrefix("HTTP/1.1 4") || answer.hasPrefix("HTTP/1.0 4"), "\(answer)")
      #expect(try LoopbackClient(port: port).request("GET", "/echo").status == 200)
    }
  }

  @Test(arguments: ["", "Content-Length: 2\r\n"]) func opensNoTunnel(header: String) async throws {
    try await withServer { host, port in
      let client = try LoopbackClient(port: port)
      try client.send("CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\(header)\r\n")
      #expect(try client.receiveAll() == [])
      try await eventually("it is gone") { await host.connectionCount == 0 }
    }
  }

  @Test func answersWhoWouldRatherSpeakHTTP2() async throws {
    try await withServer { _, port in
      let client = try LoopbackClient(port: port)
      let answer = try client.request(
        "GET", "/echo?a",
        headers: ["Upgrade": "h2c", "Connection": "Upgrade, HTTP2-Settings", "HTTP2-Settings": "AAMAAABk"])
      #expect(answer.status == 200)
      #expect(answer.text == "GET /echo [a=] [] ")
    }
  }

  @Test func limitsConnectionsWithAClearAnswer() async throws {
    try await withServer({ $0.limits.connections = 3 }) { host, port in
      var clients: [LoopbackClient] = []
      for _ in 0..<3 {
        let client = try LoopbackClient(port: port)
        #expect(try client.request("GET", "/echo").status == 200)
        clients.append(client)
      }
      let oneTooMany = try LoopbackClient(port: port)
      let answer = try oneTooMany.request("GET", "/echo")
      #expect(answer.status == 503)
      #expect(answer.text.contains("too many connections"))
      #expect(try oneTooMany.receiveAll() == [])
      clients.removeFirst()
      try await eventually("the left connection is counted out") { await host.connectionCount == 2 }
      #expect(try LoopbackClient(port: port).request("GET", "/echo").status == 200)
    }
  }

  @Test func limitsConnectionsOfOneAddressWithAClearAnswer() async throws {
    try await withServer({
      $0.limits.connectionsOfOneHost = 3
      $0.limits.exemptsLoopback = false
    }) { host, port in
      var clients: [LoopbackClient] = []
      for _ in 0..<3 {
        let client = try LoopbackClient(port: port)
        #expect(try client.request("GET", "/echo").status == 200)
        clients.append(client)
      }
      var excess: [LoopbackClient] = []
      for _ in 0..<8 {
        let oneTooMany = try LoopbackClient(port: port)
        let answer = try oneTooMany.request("GET", "/echo")
        #expect(answer.status == 429)
        #expect(answer.text.contains("too many connections from this address"))
        #expect(try oneTooMany.receiveAll() == [])
        excess.append(oneTooMany)
      }
      // Who was there is still served; one that leaves makes room.
      #expect(try clients[0].request("GET", "/echo").status == 200)
      clients.removeFirst()
      try await eventually("the left connection is counted out") { await host.connectionCount == 2 }
      let next = try LoopbackClient(port: port)
      #expect(try next.request("GET", "/echo").status == 200)
      // So many at once that they are not even answered.
      var silent: [LoopbackClient] = []
      for _ in 0..<20 { silent.append(try LoopbackClient(port: port)) }
      try await eventually("no more than are answered are taken") { await host.connectionCount == 11 }
      #expect(try silent[19].receiveAll() == [])
      withExtendedLifetime(excess) {}
    }
  }

  @Test func anAddressIsCountedAsAHost() {
    func host(_ address: [UInt8]) -> RemoteHost { RemoteHost(address: address) }
    func host6(_ head: [UInt8], _ tail: UInt8) -> RemoteHost {
      host(head + [UInt8](repeating: 0, count: 15 - head.count) + [tail])
    }
    #expect(host([192, 0, 2, 1]) == host([192, 0, 2, 1]) && host([192, 0, 2, 1]) != host([192, 0, 2, 2]))
    #expect(host6([0x20, 1, 0xD, 0xB8], 1) == host6([0x20, 1, 0xD, 0xB8], 2))
    #expect(host6([0x20, 1, 0xD, 0xB8, 0, 0, 0, 1], 1) != host6([0x20, 1, 0xD, 0xB8], 1))
    #expect(host6([0xFE, 0x80], 1) != host6([0xFE, 0x80], 2))
    #expect(host([127, 8, 9, 1]).isLoopback && host6([], 1).isLoopback)
    #expect(!host([10, 0, 0, 1]).isLoopback && !host6([], 2).isLoopback && !host([]).isLoopback)
  }

  @Test func saysWhyItCannotListen() async throws {
    try await withServer { _, port in
      let second = WebServerHost()
      await #expect(throws: WebServerError.addressInUse(host: "127.0.0.1", port: port)) {
        try await second.start { $0.port = port }
      }
      await #expect(throws: WebServerError.addressNotAvailable(host: "192.0.2.1")) {
        try await second.start { $0.host = "192.0.2.1" }
      }
      await #expect {
        try await second.start { $0.host = "no-such-host.invalid" }
      } throws: { error in
        guard case .unknownHost("no-such-host.invalid", _)? = error as? WebServerError else { return false }
        return true
      }
      let missing = CertificateFiles(certificate: "/no/cert.pem", key: "/no/key.pem")
      await #expect(
        throws: WebServerError.badCertificate(reason: "/no/cert.pem: no readable certificate (PEM)")
      ) {
        try await second.start { $0.certificate = missing }
      }
      // The port is free again at once, and the failed starts left nothing behind.
      _ = try await second.start()
      await second.stop()
    }
  }

  @Test func firesTheTimerAtItsTime() async throws {
    try await withServer { host, _ in
      await host.wake(at: MonotonicClock.now() + .seconds(3600))
      let before = MonotonicClock.now()
      await host.wake(at: before + .milliseconds(50))
      try await eventually("the timer fires") { await host.timers == 1 }
      #expect(MonotonicClock.now() - before >= .milliseconds(49))
      let due = MonotonicClock.now() + .milliseconds(50)
      await host.wake(at: due)
      await host.wake(at: nil)
      let isInTime = MonotonicClock.now() < due
      try await Task.sleep(for: .milliseconds(100))
      #expect(await host.timers == 1 || !isInTime)
    }
  }
}

@Suite struct AccessLogTests {
  @Test func keepsOnOneLine() {
    #expect(WebServer.printable("/a\nb\u{7F}é") == "/a?b?é")
    #expect(WebServer.printable(String(repeating: "x", count: 1000)).count == 200)
  }
}

import Base
import Glibc
import SDP
import TestSupport
import Testing

@testable import Peer

/// A machine that knows its name, on the loopback interface.
@NetworkActor
private final class Responder {
  static let port = UInt16.random(in: 20_000..<30_000)
  static let loopback = Int32(bitPattern: if_nametoindex("lo"))
  static let configuration = MulticastResolver.Configuration(
    group: "224.0.0.251", port: port, interfaces: [loopback])

  private(set) var questions: [[UInt8]] = []
  private let socket: MulticastSocket
  private var source: DescriptorSource?

  /// - Parameter answers: what is sent for a question.
  init?(_ answers: @escaping (_ question: [UInt8]) -> [[UInt8]]) {
    var group = in_addr()
    inet_pton(AF_INET, "224.0.0.251", &group)
    guard let socket = MulticastSocket(group: group, port: Self.port, interfaces: [Self.loopback]) else {
      return nil
    }
    self.socket = socket
    source = DescriptorSource(self.socket.descriptor) { [weak self] in
      guard let self else { return }
      var replies: [[UInt8]] = []
      self.socket.receive { datagram in
        guard datagram.count > 12, datagram[2] & 0x80 == 0 else { return }
        questions.append(Array(datagram))
        replies += answers(Array(datagram))
      }
      for reply in replies { self.socket.send(reply) }
    }
  }

  func close() { source = nil }

  /// The answer to a question, with the name as a pointer at the question's if there is one.
  static func answer(to question: [UInt8], type: UInt16, data: [UInt8], repeatsQuestion: Bool = true)
    -> [UInt8]
  {
    let name = Array(question[12..<(question.count - 4)])
    var message: [UInt8] = [0, 0, 0x84, 0, 0, repeatsQuestion ? 1 : 0, 0, 1, 0, 0, 0, 0]
    if repeatsQuestion { message += question[12...] }
    message += repeatsQuestion ? [0xc0, 12] : name
    message += [UInt8(type >> 8), UInt8(type & 0xff), 0x80, 1, 0, 0, 0, 120, 0, UInt8(data.count)]
    return message + data
  }

  static func type(of question: [UInt8]) -> UInt8 { question[question.count - 3] }
}

/// What came of asking, as the closures of an actor can write it.
@NetworkActor
private final class Found {
  var answers: [String?] = []
}

extension ICETransport.Configuration {
  /// Asks and gathers on the loopback interface.
  @NetworkActor static var loopback: Self {
    .init(includesLoopback: true, resolver: MulticastResolver(Responder.configuration))
  }
}

@Suite(.serialized) @NetworkActor struct MulticastResolverTests {
  static let name = "f1b4a2c0-6d61-4c5e-9a7e-0123456789ab.local"

  @Test(arguments: [true, false])
  func findsWhoseNameItIs(repeatsQuestion: Bool) async throws {
    let responder = try #require(
      Responder { question in
        guard Responder.type(of: question) == 1 else { return [] }
        return [
          Responder.answer(to: question, type: 1, data: [192, 0, 2, 7], repeatsQuestion: repeatsQuestion)
        ]
      })
    let resolver = MulticastResolver(Responder.configuration)
    let found = Found()
    resolver.resolve(Self.name.uppercased()) { found.answers.append($0) }
    resolver.resolve(Self.name) { found.answers.append($0) }
    #expect(found.answers.isEmpty)
    #expect(resolver.count == 1)
    try await eventually("found") { found.answers.count == 2 }
    #expect(found.answers == ["192.0.2.7", "192.0.2.7"])
    #expect(resolver.count == 0)
    var question: [UInt8] = [0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 36]
    question += Self.name.utf8.prefix(36)
    question += [5, 0x6c, 0x6f, 0x63, 0x61, 0x6c, 0, 0, 1, 0, 1]
    #expect(responder.questions.first == question)
    responder.close()
  }

  @Test func findsIPv6() async throws {
    let data: [UInt8] = [0x20, 0x01, 0x0d, 0xb8] + [UInt8](repeating: 0, count: 11) + [1]
    let responder = try #require(
      Responder { question in
        Responder.type(of: question) == 28 ? [Responder.answer(to: question, type: 28, data: data)] : []
      })
    let resolver = MulticastResolver(Responder.configuration)
    let found = Found()
    resolver.resolve(Self.name) { found.answers.append($0) }
    try await eventually("found") { !found.answers.isEmpty }
    #expect(found.answers == ["2001:db8::1"])
    responder.close()
  }

  @Test func asksAgainAndGivesUp() async throws {
    let responder = try #require(Responder { _ in [] })
    let resolver = MulticastResolver(Responder.configuration)
    let found = Found()
    resolver.resolve(Self.name) { found.answers.append($0) }
    try await eventually("given up") { !found.answers.isEmpty }
    #expect(found.answers == [nil])
    // Two types, twice. (Other tests ask for other names.)
    let own = MulticastDNSMessage.query(Self.name, .a).dropLast(4)
    #expect(responder.questions.count { $0.starts(with: own) } == 4)
    responder.close()
  }

  @Test func whatStrangersMayAskForIsBounded() async throws {
    let resolver = MulticastResolver(Responder.configuration)
    let found = Found()
    let refused = [
      "", ".local", "a.b.local", "printer.example.org", "-\u{e4}.local", "a b.local", "x\0.local",
      String(repeating: "a", count: 64) + ".local",
    ]
    for name in refused { resolver.resolve(name) { found.answers.append($0) } }
    for number in 0..<100 { resolver.resolve("host-\(number).local") { found.answers.append($0) } }
    #expect(resolver.count == MulticastResolver.maximumNames)
    try await eventually("refused") { found.answers.count == 76 }
    #expect(found.answers.allSatisfy { $0 == nil })
  }

  /// Whatever comes on the port costs nothing.
  @Test func senselessAnswersAreIgnored() async throws {
    let responder = try #require(
      Responder { question in
        guard Responder.type(of: question) == 1 else { return [] }
        let right = Responder.answer(to: question, type: 1, data: [192, 0, 2, 7])
        let other = Responder.answer(
          to: MulticastDNSMessage.query("other.local", .a), type: 1, data: [192, 0, 2, 66])
        let short = Responder.answer(to: question, type: 1, data: [192, 0, 2])
        let linkLocal = Responder.answer(
          to: question, type: 28, data: [0xfe, 0x80] + [UInt8](repeating: 1, count: 14))
        return [[], [0], right.dropLast(1), other, short, linkLocal].map { Array($0) } + [right]
      })
    let resolver = MulticastResolver(Responder.configuration)
    let found = Found()
    resolver.resolve(Self.name) { found.answers.append($0) }
    try await eventually("found") { !found.answers.isEmpty }
    #expect(found.answers == ["192.0.2.7"])
    responder.close()
  }

  @Test func aCandidateWithANameBecomesAPath() async throws {
    let responder = try #require(
      Responder { question in
        Responder.type(of: question) == 1
          ? [Responder.answer(to: question, type: 1, data: [127, 0, 0, 1])] : []
      })
    let settings = ICETransport.Configuration.loopback
    let found = Found()
    let left = try ICETransport(
      configuration: settings, isControlling: true, events: { _ in }, received: { _, _ in })
    let right = try ICETransport(
      configuration: settings, isControlling: false,
      events: { event in
        if case .candidate(let text) = event, text.contains(" 127.0.0.1 ") { found.answers.append(text) }
      }, received: { _, _ in })
    #expect(left.setRemote(userFragment: right.userFragment, password: right.password))
    try left.gather()
    try right.gather()
    try await eventually("gathered") { !found.answers.isEmpty }
    var candidate = try ICECandidate(parsing: try #require(found.answers.first ?? nil))
    candidate.address = Self.name
    left.addRemoteCandidate(candidate)
    left.endRemoteCandidates()
    // Right knows nothing of left: the path begins with left's checks.
    #expect(right.setRemote(userFragment: left.userFragment, password: left.password))
    try await eventually("connected", state: { "\(left.state) \(right.state)" }) {
      left.state == .completed && right.state == .completed
    }
    #expect(left.selectedPair?.remote == "host 127.0.0.1:\(candidate.port)")
    #expect(left.ignoredCandidates == 0)
    responder.close()
  }
}

@Suite struct MulticastDNSMessageTests {
  private func records(_ message: [UInt8]) -> [MulticastDNSMessage.Record] {
    message.withUnsafeBytes { MulticastDNSMessage.records(in: $0) }
  }

  @Test func readsEveryAddressOfAResponse() {
    var message: [UInt8] = [0, 0, 0x84, 0, 0, 0, 0, 1, 0, 0, 0, 2]
    message += [1, 0x41, 5, 0x6c, 0x6f, 0x63, 0x61, 0x6c, 0]
    message += [0, 1, 0x80, 1, 0, 0, 0, 120, 0, 4, 10, 0, 0, 1]
    // An NSEC record, which is nothing to us, then another name that ends like the first.
    message += [0xc0, 12, 0, 47, 0x80, 1, 0, 0, 0, 120, 0, 2, 0xc0, 12]
    message += [1, 0x62, 0xc0, 14, 0, 1, 0, 1, 0, 0, 0, 120, 0, 4, 10, 0, 0, 2]
    #expect(
      records(message) == [
        .init(name: "a.local", address: "10.0.0.1"), .init(name: "b.local", address: "10.0.0.2"),
      ])
  }

  @Test func questionsAndFailuresAreNoResponses() {
    #expect(records(MulticastDNSMessage.query("a.local", .a)).isEmpty)
    let tail: [UInt8] = [0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4, 1, 2, 3, 4]
    #expect(records([0, 0, 0x84, 0] + tail).count == 1)
    for flags: [UInt8] in [[0x04, 0], [0x84, 3], [0xb4, 0]] {
      #expect(records([0, 0] + flags + tail).isEmpty)
    }
  }

  @Test func pointersThatPointForwardOrAtThemselvesEnd() {
    let record: [UInt8] = [0, 1, 0, 1, 0, 0, 0, 0, 0, 4, 1, 2, 3, 4]
    let header: [UInt8] = [0, 0, 0x84, 0, 0, 0, 0, 1, 0, 0, 0, 0]
    for name: [UInt8] in [[0xc0, 12], [0xc0, 13], [0xc0, 14], [0xc0, 255], [1, 0x61, 0xc0, 12]] {
      #expect(records(header + name + record).isEmpty)
    }
  }

  @Test func everyPrefixAndEveryChangedByteIsSurvived() {
    let question = MulticastDNSMessage.query("f1b4a2c0-6d61-4c5e-9a7e-0123456789ab.local", .a)
    var message: [UInt8] = [0, 0, 0x84, 0, 0, 1, 0, 1, 0, 0, 0, 0]
    message += question[12...]
    message += [0xc0, 12, 0, 1, 0x80, 1, 0, 0, 0, 120, 0, 4, 10, 0, 0, 1]
    #expect(records(message).count == 1)
    for count in message.indices { #expect(records(Array(message[..<count])).isEmpty) }
    for index in message.indices {
      for value: UInt8 in [0, 1, 0x3f, 0x40, 0xc0, 0xff] {
        var changed = message
        changed[index] = value
        #expect(records(changed).count <= 1)
      }
    }
  }
}

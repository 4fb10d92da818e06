import Base
import Glibc

/// Finds the addresses behind `.local` names by asking the local network (RFC 6762, 5.1), as browsers hide
/// them in their candidates. Never blocks; a socket is open only while something is being asked.
///
/// The names are strangers' input: how many are asked for at a time, how often and how long is bounded, and
/// nothing but a name that no DNS server would know ever leaves this machine.
@NetworkActor
final class MulticastResolver {
  struct Configuration: Sendable {
    /// In dotted notation.
    var group = "224.0.0.251"
    var port: UInt16 = 5353
    /// Their numbers; nil: all that can multicast.
    var interfaces: [Int32]?
  }

  static let shared = MulticastResolver()

  static let maximumNames = 32
  /// After the first question; the last is when a name is given up (RFC 6762, 5.2: doubling from a second).
  private nonisolated static let schedule: [Duration] = [.seconds(1), .seconds(3)]

  private struct Question {
    let asked: Instant
    var repeats = 0
    var waiting: [(String?) -> Void]

    var deadline: Instant { asked + MulticastResolver.schedule[repeats] }
  }

  private let configuration: Configuration
  private var questions: [String: Question] = [:]
  private var connection: Connection?
  private var timer: NetworkTimer?

  /// The socket and what tells that something has come; the latter goes first.
  private final class Connection {
    let socket: MulticastSocket
    private var source: DescriptorSource?

    @NetworkActor init?(_ configuration: Configuration, _ ready: @escaping @NetworkActor () -> Void) {
      var group = in_addr()
      guard inet_pton(AF_INET, configuration.group, &group) == 1,
        let socket = MulticastSocket(
          group: group, port: configuration.port,
          interfaces: configuration.interfaces ?? MulticastSocket.interfaces())
      else { return nil }
      self.socket = socket
      source = DescriptorSource(self.socket.descriptor, ready)
    }

    @NetworkActor func close() { source = nil }
  }

  init(_ configuration: Configuration = Configuration()) {
    self.configuration = configuration
    timer = NetworkTimer { [weak self] in self?.advance() }
  }

  /// How many names are being asked for.
  var count: Int { questions.count }

  /// - Parameter completion: called once, never from within this call, within three seconds: with the first
  ///   address that is told, or nil.
  func resolve(_ text: String, _ completion: @escaping (String?) -> Void) {
    guard let name = MulticastDNSMessage.name(text), open() else { return refuse(completion) }
    if questions[name] != nil {
      questions[name]?.waiting.append(completion)
      return
    }
    guard questions.count < Self.maximumNames else { return refuse(completion) }
    questions[name] = Question(asked: MonotonicClock.now(), waiting: [completion])
    ask(name)
    schedule()
  }

  private func refuse(_ completion: @escaping (String?) -> Void) {
    // The closure stays on this thread; it only waits for the loop.
    nonisolated(unsafe) let completion = completion
    NetworkActor.perform { completion(nil) }
  }

  private func open() -> Bool {
    if connection == nil { connection = Connection(configuration) { [weak self] in self?.receive() } }
    return connection != nil
  }

  private func ask(_ name: String) {
    for type in MulticastDNSMessage.RecordType.allCases {
      connection?.socket.send(MulticastDNSMessage.query(name, type))
    }
  }

  private func receive() {
    var records: [MulticastDNSMessage.Record] = []
    connection?.socket.receive { records += MulticastDNSMessage.records(in: $0) }
    for record in records { finish(record.name, record.address) }
    schedule()
  }

  private func advance() {
    let now = MonotonicClock.now()
    for (name, question) in questions where now >= question.deadline {
      if question.repeats + 1 < Self.schedule.count {
        questions[name]?.repeats += 1
        ask(name)
      } else {
        finish(name, nil)
      }
    }
    schedule()
  }

  private func finish(_ name: String, _ address: String?) {
    guard let question = questions.removeValue(forKey: name) else { return }
    for completion in question.waiting { completion(address) }
  }

  private func schedule() {
    timer?.set(questions.values.map(\.deadline).min())
    guard questions.isEmpty else { return }
    connection?.close()
    connection = nil
  }
}

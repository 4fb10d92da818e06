import Base
import CommandLineKit
import FoundationEssentials
import Glibc
import MediaIO
import OTKit
import OpenTokProtocol
import Peer
import Terminal

/// `otchat doctor`: looks at what a call needs, in the order in which it needs it.
struct DoctorCommand {
  private let arguments: Arguments

  init(_ arguments: Arguments) { self.arguments = arguments }

  func run() async throws {
    _ = try LogOutput(arguments)
    let isJSON = arguments.boolean("json")
    var checks: [DoctorCheck] = []
    func tell(_ check: DoctorCheck) {
      checks.append(check)
      if !isJSON { Output.write(check.text) }
    }
    for check in machine() { tell(check) }
    tell(.addresses(HostAddresses(choosingFrom: LocalAddress.all())))
    var servers = try arguments.texts("ice-server").map { try ICEServer(parsing: $0).urls }.flatMap { $0 }
    if let server = arguments.text("server") {
      servers += await session(server, tell: tell)
    } else {
      tell(DoctorCheck("server", .note, "not looked at", hint: "--server URL looks at the way to a session"))
    }
    for server in servers { tell(await Self.ask(server, timeout: timeout)) }
    let failed = checks.count { $0.verdict == .failed }
    if isJSON {
      let report: JSON = ["ok": .bool(failed == 0), "checks": .array(checks.map(\.json))]
      Output.write(report.text + "\n")
    }
    if failed > 0 { throw Failure(.unavailable, "\(failed) of \(checks.count) checks failed") }
  }

  private var timeout: Duration { ConnectOptions.timeout(arguments) }

  // MARK: This machine

  private func machine() -> [DoctorCheck] {
    let capabilities = TerminalCapabilities(environment: ProcessInfo.processInfo.environment)
    let colours =
      switch capabilities.colors {
      case .none: "no colours"
      case .palette16: "16 colours"
      case .palette256: "256 colours"
      case .trueColor: "true colour"
      }
    let terminal =
      capabilities.addressable
      ? DoctorCheck(
        "terminal", capabilities.unicode && capabilities.colors >= .palette256 ? .ok : .note,
        "\(colours), \(capabilities.unicode ? "Unicode" : "ASCII only")",
        hint: capabilities.unicode ? nil : "LANG=C.UTF-8 has finer pictures")
      : DoctorCheck("terminal", .note, "none that pictures can be drawn on", hint: "TERM says which it is")
    func devices(_ name: String, _ names: [String], instead: String) -> DoctorCheck {
      names.isEmpty
        ? DoctorCheck(name, .note, "none", hint: instead)
        : DoctorCheck(name, .ok, names.prefix(3).joined(separator: ", "))
    }
    return [
      DoctorCheck("otchat", .ok, Commands.version),
      terminal,
      devices("camera", Cameras.list().map(\.name), instead: "a test picture is sent instead"),
      devices("microphone", SoundDevices.microphones().map(\.name), instead: "silence is sent instead"),
      devices("loudspeaker", SoundDevices.loudspeakers().map(\.name), instead: "nothing will be heard"),
    ]
  }

  // MARK: The way to a session

  /// - Returns: the STUN and TURN servers that the session has.
  private func session(_ server: String, tell: (DoctorCheck) -> Void) async -> [String] {
    let trust = ConnectOptions.trust(arguments)
    guard let endpoint = Credentials.endpoint(of: server, room: arguments.text("room")) else {
      tell(DoctorCheck("server", failure: Failure(OpenTokError.invalidURL(ServerURL.shown(server)))))
      return []
    }
    let credentials: Credentials
    do {
      let sent = WallClock.seconds()
      let client = HTTPClient(trust: trust, timeout: timeout)
      let response = try await client.send(HTTPRequest(endpoint), step: .credentials)
      let received = WallClock.seconds()
      let milliseconds = Int(((received - sent) * 1000).rounded())
      let protected = response.url.scheme == "https" ? "over TLS " : ""
      tell(DoctorCheck("server", .ok, "\(response.url.shown) answers \(protected)in \(milliseconds) ms"))
      tell(.clock(header: Self.seconds(ofDate: response.date), sent: sent, received: received))
      var given = try Credentials(response)
      if given.apiURL == nil, response.server.hasPrefix("otchat") { given.apiURL = response.url.origin }
      credentials = given
    } catch {
      tell(DoctorCheck("server", failure: Failure(error)))
      return []
    }
    do {
      try credentials.inspect(now: WallClock.microseconds() / 1_000_000)
      let role = (try? Token.inspect(credentials.token))?.role.rawValue
      tell(DoctorCheck("token", .ok, "good, for \(role.map { "a \($0)" } ?? "this session")"))
    } catch {
      tell(DoctorCheck("token", failure: Failure(error)))
    }
    do {
      let request = SessionInfoRequest(
        credentials: credentials, connectionID: UUID.v4(), trust: trust, timeout: timeout)
      let info = try await request.send()
      tell(DoctorCheck("session", .ok, "signalling at \(ServerURL.shown(info.messagingURL))"))
      let urls = info.iceServers.flatMap(\.urls)
      if urls.isEmpty {
        tell(DoctorCheck("ICE servers", .note, "the session names none", hint: "calls across NATs may fail"))
      }
      return urls
    } catch {
      tell(DoctorCheck("session", failure: Failure(error)))
      return []
    }
  }

  private static func ask(_ url: String, timeout: Duration) async -> DoctorCheck {
    let name = url.prefix { $0 != ":" }.uppercased()
    guard let server = ICEServerURL(url) else {
      return DoctorCheck(name, .failed, "that is no address of a STUN or TURN server")
    }
    let place = "\(server.host):\(server.port)"
    let result = await withCheckedContinuation { continuation in
      _ = MediaThread(name: "probe") {
        continuation.resume(returning: ServerProbe.ask(server, timeout: timeout))
      }
    }
    switch result {
    case .success(let answer):
      let seen = answer.address.map { ", and sees us as \($0)" } ?? ""
      let time = Self.shown(answer.roundTripTime)
      return DoctorCheck(
        name, .ok, "\(place) \(answer.address == nil ? "takes connections" : "answers") in \(time)\(seen)")
    case .failure(.unknownHost): return DoctorCheck(name, .failed, "\(place): no such host")
    case .failure(.noAnswer):
      return DoctorCheck(
        name, .failed, "\(place) does not answer within \(Self.shown(timeout))",
        hint: server.transport == .udp ? "does the network let UDP pass? turns: servers need TCP only" : nil)
    case .failure(.cannotConnect(let reason)): return DoctorCheck(name, .failed, "\(place): \(reason)")
    }
  }

  private static func shown(_ duration: Duration) -> String {
    let milliseconds = duration.milliseconds
    return milliseconds < 1000
      ? "\(milliseconds.fixed(1)) ms" : "\((milliseconds / 1000).fixed(1)) s"
  }

  static func seconds(ofDate text: String) -> Double? {
    let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
    let fields = text.split { ", :".contains($0) }
    guard fields.count == 8, fields[7] == "GMT", let month = months.firstIndex(of: String(fields[2])) else {
      return nil
    }
    let numbers = [fields[1], fields[3], fields[4], fields[5], fields[6]].compactMap { Int32($0) }
    guard numbers.count == 5, (1970...9999).contains(numbers[1]) else { return nil }
    var time = tm()
    time.tm_mday = numbers[0]
    time.tm_mon = Int32(month)
    time.tm_year = numbers[1] - 1900
    (time.tm_hour, time.tm_min, time.tm_sec) = (numbers[2], numbers[3], numbers[4])
    return Double(timegm(&time))
  }
}

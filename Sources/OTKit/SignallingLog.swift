import Base
import OpenTokProtocol

extension RumorFrame {
  private static let longestLogged = 2000

  /// The frame for a log: without token, passwords of ICE and TURN, and the rest of what is long.
  var logText: String {
    var text = "\(kind)"
    if let status { text += " \(status)" }
    guard !payload.isEmpty else { return text }
    guard let json = try? JSON(parsing: payload) else { return "\(text) with \(payload.count) bytes" }
    return "\(text) \(json.withoutSecrets.text.prefix(Self.longestLogged))"
  }
}

extension JSON {
  private static let secrets: Set = ["token", "credential", "password"]

  var withoutSecrets: JSON {
    switch self {
    case .object(let members):
      var object = JSON.Object()
      for (key, value) in members {
        object[key] = Self.secrets.contains(key.lowercased()) ? "…" : value.withoutSecrets
      }
      return .object(object)
    case .array(let elements): return .array(elements.map(\.withoutSecrets))
    case .string(let text): return .string(Self.blanked(text))
    case .null, .bool, .integer, .number: return self
    }
  }

  /// A session description's `a=ice-pwd` lines without the password (RFC 8839, 5.4).
  private static func blanked(_ text: String) -> String {
    let name = "ice-pwd:"
    guard text.contains(name) else { return text }
    return text.split(separator: "\r\n", omittingEmptySubsequences: false)
      .map { line in line.firstRange(of: name).map { line[..<$0.upperBound] + "…" } ?? line }
      .joined(separator: "\r\n")
  }
}

/// A session description for a person to read: without passwords of ICE (RFC 8839, 5.4), a line for a line, and
/// nothing in it that a terminal would obey.
func descriptionText(_ sdp: String) -> String {
  sdp.prefix(65_536).split(whereSeparator: \.isNewline).map { line in
    let text = line.unicodeScalars.map { $0.properties.generalCategory == .control ? "." : String($0) }
      .joined()
    return "  " + (text.firstRange(of: "ice-pwd:").map { text[..<$0.upperBound] + "…" } ?? text[...])
  }.joined(separator: "\n")
}

extension Session {
  /// `--dump-sdp`
  func dump(_ what: String, _ peer: PeerAddress, _ sdp: String) {
    guard configuration.logsDescriptions else { return }
    let subscriber = peer.subscriberID.map { ", subscriber \($0)" } ?? ""
    Log.dump("sdp", "\(what), stream \(peer.streamID)\(subscriber)\n\(descriptionText(sdp))")
  }

  func log(_ event: WebSocketClient.Event) {
    switch event {
    case .opened: Log.info("session", "the socket is open")
    case .failed(let error): Log.info("session", "the socket cannot be opened: \(error.message)")
    case .closed(let code): Log.info("session", "the socket was closed (\(code))")
    case .message(let bytes):
      guard Log.level >= .debug else { break }
      let text =
        (try? RumorFrame(decoding: bytes, maximumSize: RumorFrame.maximumServerSize))?.logText
        ?? "\(bytes.count) bytes that are no frame"
      Log.debug("signalling", "received \(text)")
    }
  }
}

import Foundation

/// Recorded traffic of two OpenTok clients and a server: vectors for parsers, and clients to replay.
///
/// Files are `Fixtures/traces/CLIENT-SITUATION.jsonl`; the API key is `100`, the clock to check tokens
/// against is `began` + a line's time.
package struct Trace: Sendable {
  package static let secret = "lab-throwaway-secret"

  package struct Frame: Sendable {
    /// The name of the frame's kind in capitals, as the recorder decoded it.
    package var kind: String
    package var addresses: [String]
    package var headers: [[String]]
    /// The frame as it was on the wire.
    package var bytes: [UInt8]
    /// The payload has blanks after `,` and `:`, so it does not come out of a compact serialiser again.
    package var isSpaced: Bool
  }

  package struct Exchange: Sendable {
    package var method: String
    package var path: String
    package var headers: [[String]]
    package var status: Int
    /// JSON text; empty if there was none.
    package var body: [UInt8]
  }

  package enum Content: Sendable {
    case http(Exchange)
    /// A WebSocket upgrade with its path and query.
    case open(path: String)
    case frame(Frame)
    /// 0: a Close frame without a code; 1006: none.
    case close(code: Int)
  }

  package struct Line: Sendable {
    /// Seconds since the start.
    package var time: Double
    /// Number of the WebSocket in this file.
    package var socket: Int
    package var isFromClient: Bool
    package var content: Content
  }

  package var name: String
  /// Seconds since 1970.
  package var began: Double
  package var apiKey: String
  package var lines: [Line]

  /// The session that the clients asked for first.
  package var sessionID: String {
    for line in lines {
      guard case .http(let exchange) = line.content else { continue }
      return exchange.path.split(separator: "?")[0].split(separator: "/").last.map(String.init) ?? ""
    }
    return ""
  }

  package static func names() throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: folder().path)
      .filter { $0.hasSuffix(".jsonl") }.map { String($0.dropLast(6)) }.sorted()
  }

  package static func all() throws -> [Trace] { try names().map { try Trace(name: $0) } }

  package init(name: String) throws {
    let text = try String(contentsOf: Self.folder().appending(path: name + ".jsonl"), encoding: .utf8)
    let objects = try text.split(separator: "\n").map { line in
      guard let object = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any] else {
        throw CocoaError(.fileReadCorruptFile)
      }
      return object
    }
    guard let began = objects.first?["began"] as? Double, let apiKey = objects.first?["apiKey"] as? String
    else { throw CocoaError(.fileReadCorruptFile) }
    self.name = name
    self.began = began
    self.apiKey = apiKey
    lines = try objects.dropFirst().map(Self.line)
  }

  private static func folder() throws -> URL {
    guard let url = Bundle.module.url(forResource: "Fixtures/traces", withExtension: nil) else {
      throw CocoaError(.fileNoSuchFile)
    }
    return url
  }

  private static func line(_ object: [String: Any]) throws -> Line {
    Line(
      time: object["time"] as? Double ?? 0, socket: object["socket"] as? Int ?? -1,
      isFromClient: object["direction"] as? String != "S>C", content: try content(object))
  }

  private static func content(_ object: [String: Any]) throws -> Content {
    let kind = object["type"] as? String ?? ""
    switch kind {
    case "HTTP":
      let request = object["request"] as? [String: Any] ?? [:]
      let response = object["response"] as? [String: Any] ?? [:]
      let body = response["body"].flatMap { $0 is NSNull ? nil : $0 }
      return .http(
        Exchange(
          method: request["method"] as? String ?? "", path: request["path"] as? String ?? "",
          headers: request["headers"] as? [[String]] ?? [], status: response["status"] as? Int ?? 0,
          body: try body.map {
            Array(try JSONSerialization.data(withJSONObject: $0, options: .fragmentsAllowed))
          } ?? []))
    case "OPEN": return .open(path: object["path"] as? String ?? "")
    case "CLOSE": return .close(code: object["code"] as? Int ?? 0)
    default:
      return .frame(
        Frame(
          kind: kind, addresses: object["addresses"] as? [String] ?? [],
          headers: object["headers"] as? [[String]] ?? [], bytes: bytes(object["raw"] as? String ?? ""),
          isSpaced: object["style"] as? String == "spaced"))
    }
  }

  private static func bytes(_ hexadecimal: String) -> [UInt8] {
    let digits = Array(hexadecimal.utf8).map { $0 < 0x40 ? $0 &- 0x30 : $0 &- 0x57 }
    return stride(from: 0, to: digits.count - 1, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
  }
}

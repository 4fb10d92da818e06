import Base
import CWebSockets
import Glibc

/// A request on its way in.
struct HTTPExchange {
  var request: HTTPRequest
  /// The connection cannot be used again after the answer.
  var closes: Bool
}

/// A file on its way out.
struct Download {
  let file: FileBody
  var rest: Range<Int64>
}

extension WebServer {
  /// Request headers that handlers may see.
  private static let knownHeaders: [(String, lws_token_indexes)] = [
    ("host", WSI_TOKEN_HOST), ("origin", WSI_TOKEN_ORIGIN), ("content-type", WSI_TOKEN_HTTP_CONTENT_TYPE),
    ("content-length", WSI_TOKEN_HTTP_CONTENT_LENGTH), ("authorization", WSI_TOKEN_HTTP_AUTHORIZATION),
    ("cookie", WSI_TOKEN_HTTP_COOKIE), ("transfer-encoding", WSI_TOKEN_HTTP_TRANSFER_ENCODING),
    ("upgrade", WSI_TOKEN_UPGRADE), ("range", WSI_TOKEN_HTTP_RANGE),
    ("if-range", WSI_TOKEN_HTTP_IF_RANGE),
  ]
  private static let ownHeaders = [
    "x-opentok-auth", "x-tb-token-auth", "x-tb-partner-auth", "x-access-key", "sec-fetch-site",
  ]
  /// In the order in which libwebsockets numbers them.
  private static let methods: [HTTPMethod?] = [.get, .post, .options, .put, .patch, .delete, nil, .head]

  /// A larger body is not even read to its end; its sender is cut off.
  private static let discardedBodyBytes = 64 << 20

  /// Of a file, at once.
  private static let pieceBytes = 64 << 10
  private static let stalledSeconds: Int32 = 60

  // MARK: - In

  /// The headers are there. False closes the connection.
  func begin(_ wsi: OpaquePointer, path: String) -> Bool {
    // A timer cannot be taken back: libwebsockets fires it at once then.
    awaitedBodies.remove(wsi)
    guard let method = method(of: wsi) else {
      return respond(wsi, nil, .failure(405, "no such method"), closing: true)
    }
    let request = request(wsi, method: method, path: path)
    if let refusal = connections.refusal(of: wsi) { return respond(wsi, request, refusal, closing: true) }
    if request.header("transfer-encoding") != nil {
      return respond(wsi, request, .failure(411, "a body needs a Content-Length"), closing: true)
    }
    guard let lengthText = request.header("content-length") else {
      // libwebsockets goes on waiting for the body of such a request.
      let closes = method == .post || method == .put || method == .patch
      return answer(wsi, HTTPExchange(request: request, closes: closes))
    }
    guard let length = UInt64(lengthText), lengthText.allSatisfy({ $0.isASCII && $0.isNumber }) else {
      return respond(wsi, request, .failure(400, "bad Content-Length"), closing: true)
    }
    if length > 0 && hasUnservedInput(wsi) {
      return respond(wsi, request, .failure(503, "a body has to wait for the answer before"), closing: true)
    }
    if length > UInt64(configuration.limits.bodyBytes) {
      let closes = length > UInt64(Self.discardedBodyBytes)
      // libwebsockets waits for the end of what is thrown away.
      if !closes { awaitBody(wsi) }
      return respond(wsi, request, .failure(413, "the body is too big"), closing: closes)
    }
    let exchange = HTTPExchange(request: request, closes: false)
    // For a POST libwebsockets reports the end of a body of no bytes too.
    if length == 0 && method != .post { return answer(wsi, exchange) }
    exchanges[wsi] = exchange
    awaitBody(wsi)
    return true
  }

  /// Before the upgrade to a WebSocket. False closes the connection, after an answer or without one.
  func confirmUpgrade(_ wsi: OpaquePointer) -> Bool {
    var pointer: UnsafeMutablePointer<CChar>?
    var count: Int32 = 0
    guard lws_http_get_uri_and_method(wsi, &pointer, &count) >= 0, let pointer, let method = method(of: wsi)
    else { return false }
    let path = String(
      decoding: UnsafeRawBufferPointer(start: pointer, count: Int(count)), as: UTF8.self)
    let request = request(wsi, method: method, path: path)
    let refusal: HTTPResponse?
    if let limit = connections.refusal(of: wsi) {
      refusal = limit
    } else if configuration.certificate != nil && lws_is_ssl(wsi) == 0 {
      refusal = .failure(400, "this port speaks TLS")
    } else if request.header("upgrade")?.lowercased() != "websocket" {
      // Some clients offer HTTP/2 with their first request; it is answered as if they had not.
      let hasBody = request.header("content-length") != nil || request.header("transfer-encoding") != nil
      let answer = hasBody ? nil : handlers.request(request)
      refusal = answer.flatMap { $0.file == nil ? $0 : nil } ?? .failure(400, "no upgrade but to a WebSocket")
    } else {
      refusal = handlers.refusal(request)
    }
    guard let refusal else {
      upgrades[wsi] = request
      return true
    }
    return respond(wsi, request, refusal, closing: true)
  }

  /// Whether this request came along with one before it. If so libwebsockets would read its headers once
  /// more as its body, for ever, and serve nobody else. It says only that it has input of somebody, which may
  /// be one who does not read the answers to what was asked before; of those that it is to take none from it
  /// does not say so, and for this question these are all the others.
  private func hasUnservedInput(_ wsi: OpaquePointer) -> Bool {
    let context = lws_get_context(wsi)
    guard lws_service_adjust_timeout(context, 1, 0) == 0 else { return false }
    for other in connections.connections where other != wsi { lws_rx_flow_control(other, 0) }
    defer { for other in connections.connections where other != wsi { lws_rx_flow_control(other, 1) } }
    return lws_service_adjust_timeout(context, 1, 0) == 0
  }

  private func method(of wsi: OpaquePointer) -> HTTPMethod? {
    var pointer: UnsafeMutablePointer<CChar>?
    var count: Int32 = 0
    let index = Int(lws_http_get_uri_and_method(wsi, &pointer, &count))
    return Self.methods.indices.contains(index) ? Self.methods[index] : nil
  }

  private func request(_ wsi: OpaquePointer, method: HTTPMethod, path: String) -> HTTPRequest {
    var headers: [String: String] = [:]
    for (name, token) in Self.knownHeaders {
      headers[name] = text(count: lws_hdr_total_length(wsi, token)) { lws_hdr_copy(wsi, $0, $1, token) }
    }
    for name in Self.ownHeaders {
      let key = name + ":"
      let nameCount = Int32(key.utf8.count)
      headers[name] = text(count: lws_hdr_custom_length(wsi, key, nameCount)) {
        lws_hdr_custom_copy(wsi, $0, $1, key, nameCount)
      }
    }
    var query: [(name: String, value: String)] = []
    while query.count < 64 {
      let index = Int32(query.count)
      let count = lws_hdr_fragment_length(wsi, WSI_TOKEN_HTTP_URI_ARGS, index)
      let pair = text(count: count) {
        lws_hdr_copy_fragment(wsi, $0, $1, WSI_TOKEN_HTTP_URI_ARGS, index)
      }
      guard let pair else { break }
      let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      query.append((String(parts[0]), parts.count > 1 ? String(parts[1]) : ""))
    }
    return HTTPRequest(
      method: method, path: path, query: query, headers: headers,
      isSecure: configuration.certificate != nil)
  }

  /// Nil if there are no bytes to copy.
  private func text(
    count: Int32, copy: (UnsafeMutablePointer<CChar>?, Int32) -> Int32
  ) -> String? {
    guard count > 0 else { return nil }
    let bytes = [CChar](unsafeUninitializedCapacity: Int(count) + 1) { buffer, initialized in
      initialized = max(0, Int(copy(buffer.baseAddress, count + 1)))
    }
    return bytes.isEmpty ? nil : String(decoding: bytes.map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  /// Has the connection end (`LWS_CALLBACK_TIMER`) unless its body, or the next request, has come in time: the
  /// time limits of libwebsockets begin anew with each piece.
  func awaitBody(_ wsi: OpaquePointer) {
    awaitedBodies.insert(wsi)
    lws_set_timer_usecs(wsi, configuration.limits.bodyDuration.nanoseconds / 1000)
  }

  // MARK: - Out

  /// Has the handler answer. False closes the connection.
  func answer(_ wsi: OpaquePointer, _ exchange: HTTPExchange) -> Bool {
    let response = handlers.request(exchange.request)
    guard response.isHeld else {
      return respond(wsi, exchange.request, response, closing: exchange.closes)
    }
    hold(wsi, exchange, response)
    return true
  }

  /// Sends a response and ends the transaction. False closes the connection.
  func respond(
    _ wsi: OpaquePointer, _ request: HTTPRequest?, _ response: HTTPResponse, closing: Bool
  ) -> Bool {
    // The path alone: a query may hold an access key or a token.
    Log.info(
      "web",
      "\(request?.method.rawValue ?? "?") \(Self.printable(request?.path ?? "?")) \(response.status) "
        + "\(response.bodyBytes) B")
    guard writeHeaders(wsi, response, closing: closing) else { return false }
    if request?.method != .head, let (file, range) = response.file, !range.isEmpty {
      downloads[wsi] = Download(file: file, rest: range)
      lws_callback_on_writable(wsi)
      return true
    }
    if request?.method != .head && !response.body.isEmpty {
      guard writeBody(wsi, response.body) else { return false }
    }
    return !closing && lws_http_transaction_completed(wsi) == 0
  }

  /// A decoded path may hold line ends and worse.
  static func printable(_ path: String) -> String {
    String(path.unicodeScalars.prefix(200).map { $0.value < 0x20 || $0.value == 0x7F ? "?" : Character($0) })
  }

  private func writeHeaders(_ wsi: OpaquePointer, _ response: HTTPResponse, closing: Bool) -> Bool {
    var headers = response.headers
    headers += [
      ("Date", HTTPDate.text(WallClock.microseconds() / 1_000_000)), ("Access-Control-Allow-Origin", "*"),
      ("Access-Control-Allow-Headers", "*"),
      ("Access-Control-Allow-Methods", "*"),
    ]
    if closing { headers.append(("Connection", "close")) }
    if response.status != 204 { headers.append(("Content-Length", String(response.bodyBytes))) }
    let size = headers.reduce(512) { $0 + $1.name.utf8.count + $1.value.utf8.count + 8 }
    var buffer = [UInt8](repeating: 0, count: OTCHAT_LWS_PRE + size)
    return buffer.withUnsafeMutableBufferPointer { buffer in
      guard let base = buffer.baseAddress else { return false }
      let start = base + OTCHAT_LWS_PRE
      let end = base + buffer.count
      var position: UnsafeMutablePointer<UInt8>? = start
      guard lws_add_http_header_status(wsi, UInt32(response.status), &position, end) == 0 else {
        return false
      }
      for (name, value) in headers {
        var value = [UInt8](value.utf8)
        let status = lws_add_http_header_by_name(wsi, name + ":", &value, Int32(value.count), &position, end)
        guard status == 0 else { return false }
      }
      return lws_finalize_write_http_header(wsi, start, &position, end) == 0
    }
  }

  /// The client takes more of a file. False closes the connection.
  func continueDownload(_ wsi: OpaquePointer) -> Bool {
    guard let download = downloads[wsi] else { return true }
    let count = min(Self.pieceBytes, download.rest.count)
    var buffer = [UInt8](repeating: 0, count: OTCHAT_LWS_PRE + count)
    let written: Int? = buffer.withUnsafeMutableBytes { buffer in
      let piece = UnsafeMutableRawBufferPointer(rebasing: buffer[OTCHAT_LWS_PRE...])
      guard let count = download.file.read(piece, at: download.rest.lowerBound),
        let start = piece.baseAddress?.assumingMemoryBound(to: UInt8.self)
      else { return nil }
      let isLast = count == download.rest.count
      return lws_write(wsi, start, count, isLast ? LWS_WRITE_HTTP_FINAL : LWS_WRITE_HTTP) < 0 ? nil : count
    }
    guard let written else { return false }
    let rest = download.rest.lowerBound + Int64(written)..<download.rest.upperBound
    guard !rest.isEmpty else {
      downloads[wsi] = nil
      return lws_http_transaction_completed(wsi) == 0
    }
    downloads[wsi]?.rest = rest
    // Of one that takes nothing for so long the connection ends.
    lws_set_timeout(wsi, PENDING_TIMEOUT_HTTP_CONTENT, Self.stalledSeconds)
    lws_callback_on_writable(wsi)
    return true
  }

  private func writeBody(_ wsi: OpaquePointer, _ body: [UInt8]) -> Bool {
    var buffer = [UInt8](repeating: 0, count: OTCHAT_LWS_PRE)
    buffer += body
    return buffer.withUnsafeMutableBufferPointer { buffer in
      guard let base = buffer.baseAddress else { return false }
      let start = base + OTCHAT_LWS_PRE
      return lws_write(wsi, start, body.count, LWS_WRITE_HTTP_FINAL) >= 0
    }
  }
}

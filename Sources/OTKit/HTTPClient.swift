import Base
import CCurl
import Glibc
import Synchronization

package struct HTTPRequest: Sendable {
  package var method = "GET"
  package var url: ServerURL
  package var headers: [(name: String, value: String)] = []
  /// Headers that are not sent on to another origin by a redirect: tokens.
  package var secretHeaders: [(name: String, value: String)] = []
  package var body: [UInt8]?

  package init(_ url: ServerURL) { self.url = url }
}

package struct HTTPResponse: Sendable {
  package var status: Int
  package var contentType: String
  /// The `Server` header; empty if there is none.
  package var server: String
  /// The `Date` header; empty if there is none.
  package var date = ""
  package var body: [UInt8]
  /// Where the answer came from, after redirects.
  package var url: ServerURL
}

/// HTTP over libcurl. A request runs on a thread of its own, so nothing blocks the shared pool.
package struct HTTPClient: Sendable {
  package var trust: TLSTrust
  /// For the whole request, redirects included.
  package var timeout: Duration
  package var maximumBodySize = 1 << 20
  package var maximumRedirects = 5
  /// Paths may hold keys: then only who was asked is logged.
  package var logsPaths = true

  package init(trust: TLSTrust = .system, timeout: Duration = .seconds(10)) {
    self.trust = trust
    self.timeout = timeout
  }

  /// Any status is an answer; only the lack of one is an error. Cancelling the task ends the wait at once
  /// and the transfer soon after.
  /// - Parameter step: what a time-out is called in the error.
  package func send(_ request: HTTPRequest, step: OpenTokError.Step) async throws(OpenTokError)
    -> HTTPResponse
  {
    if let file = trust.certificateFile, access(file, R_OK) != 0 {
      throw OpenTokError.certificateFileUnreadable(path: file)
    }
    let pending = Pending()
    let result = await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        guard pending.begin(continuation) else { return }
        do throws(ThreadError) {
          _ = try MediaThread.start(name: "http") {
            BrokenPipe.ignore()
            pending.finish(
              Result { () throws(OpenTokError) in
                try Transfer(self, pending).run(request, step: step)
              })
          }
        } catch {
          pending.finish(.failure(OpenTokError(error)))
        }
      }
    } onCancel: {
      pending.cancel()
    }
    return try result.get()
  }

  /// The bridge between the waiting task and the transfer's thread: whoever comes first resumes the task.
  fileprivate final class Pending: Sendable {
    typealias Answer = Result<HTTPResponse, OpenTokError>
    private let continuation = Lock<CheckedContinuation<Answer, Never>?>(nil)
    private let cancelled = Atomic<Bool>(false)

    var isCancelled: Bool { cancelled.load(ordering: .acquiring) }

    /// False, and resumed already, if the task was cancelled before.
    func begin(_ waiting: CheckedContinuation<Answer, Never>) -> Bool {
      continuation.withLock { $0 = waiting }
      if isCancelled { finish(.failure(.cancelled)) }
      return !isCancelled
    }

    func finish(_ answer: Answer) {
      let waiting = continuation.withLock { continuation in
        defer { continuation = nil }
        return continuation
      }
      waiting?.resume(returning: answer)
    }

    func cancel() {
      cancelled.store(true, ordering: .releasing)
      finish(.failure(.cancelled))
    }
  }
}

/// One request with its redirects on one curl handle; lives on its thread.
private final class Transfer {
  private static let initialised = curl_global_init(Int(CURL_GLOBAL_DEFAULT))
  private let client: HTTPClient
  private let pending: HTTPClient.Pending
  private var body: [UInt8] = []
  private var tooLarge = false
  /// Where libcurl writes what went wrong.
  private let problem = UnsafeMutableBufferPointer<CChar>.allocate(capacity: Int(CURL_ERROR_SIZE))

  deinit { problem.deallocate() }

  init(_ client: HTTPClient, _ pending: HTTPClient.Pending) {
    self.client = client
    self.pending = pending
    problem.initialize(repeating: 0)
  }

  func run(_ request: HTTPRequest, step: OpenTokError.Step) throws(OpenTokError) -> HTTPResponse {
    guard Self.initialised == CURLE_OK, let curl = curl_easy_init() else {
      throw OpenTokError.systemFailure("libcurl cannot be initialised")
    }
    defer { curl_easy_cleanup(curl) }
    let deadline = MonotonicClock.now() + client.timeout
    var url = request.url
    for _ in 0...client.maximumRedirects {
      let response = try perform(
        curl, request, at: url, until: deadline, step: step, secrets: url.origin == request.url.origin)
      guard (300..<400).contains(response.status), let target = redirect(curl) else { return response }
      guard let next = ServerURL(target), next.isSecure || !url.isSecure else {
        throw OpenTokError.invalidURL(ServerURL.shown(target))
      }
      url = next
    }
    throw OpenTokError.tooManyRedirects(url: request.url.shown)
  }

  private func redirect(_ curl: UnsafeMutableRawPointer) -> String? {
    var target: UnsafePointer<CChar>?
    otchat_curl_get_string(curl, CURLINFO_REDIRECT_URL, &target)
    return target.map { String(cString: $0) }
  }

  private func perform(
    _ curl: UnsafeMutableRawPointer, _ request: HTTPRequest, at url: ServerURL, until deadline: Instant,
    step: OpenTokError.Step, secrets: Bool
  ) throws(OpenTokError) -> HTTPResponse {
    body = []
    curl_easy_reset(curl)
    otchat_curl_set_string(curl, CURLOPT_URL, url.text)
    otchat_curl_set_string(curl, CURLOPT_PROTOCOLS_STR, "http,https")
    otchat_curl_set_string(curl, CURLOPT_CUSTOMREQUEST, request.method)
    otchat_curl_set_string(curl, CURLOPT_USERAGENT, ClientVersion.userAgent)
    otchat_curl_set_string(curl, CURLOPT_ACCEPT_ENCODING, "")
    otchat_curl_set_long(curl, CURLOPT_NOSIGNAL, 1)
    otchat_curl_set_long(
      curl, CURLOPT_TIMEOUT_MS, max(1, Int((deadline - MonotonicClock.now()).milliseconds)))
    // A proxy of the environment knows nothing of this machine's own servers.
    if url.isLoopback { otchat_curl_set_string(curl, CURLOPT_PROXY, "") }
    if let file = client.trust.certificateFile { otchat_curl_set_string(curl, CURLOPT_CAINFO, file) }
    if client.trust.insecure {
      otchat_curl_set_long(curl, CURLOPT_SSL_VERIFYPEER, 0)
      otchat_curl_set_long(curl, CURLOPT_SSL_VERIFYHOST, 0)
    }
    var list: UnsafeMutablePointer<curl_slist>?
    for header in request.headers + (secrets ? request.secretHeaders : []) {
      list = curl_slist_append(list, "\(header.name): \(header.value)") ?? list
    }
    defer { curl_slist_free_all(list) }
    otchat_curl_set_pointer(curl, CURLOPT_HTTPHEADER, list)
    let me = Unmanaged.passUnretained(self).toOpaque()
    problem.update(repeating: 0)
    otchat_curl_set_pointer(curl, CURLOPT_ERRORBUFFER, problem.baseAddress)
    otchat_curl_set_write(curl, { Transfer.write($0, $1, $2, $3) }, me)
    otchat_curl_set_progress(
      curl,
      { user, _, _, _, _ in
        guard let user else { return 1 }
        return Unmanaged<Transfer>.fromOpaque(user).takeUnretainedValue().pending.isCancelled ? 1 : 0
      }, me)
    let status = (request.body ?? []).withUnsafeBytes { bytes in
      if request.body != nil {
        otchat_curl_set_long(curl, CURLOPT_POSTFIELDSIZE, bytes.count)
        // An empty array has no address, and without one curl would read the body from stdin.
        otchat_curl_set_pointer(
          curl, CURLOPT_POSTFIELDS, bytes.baseAddress ?? UnsafeRawPointer(bitPattern: 1))
      }
      return curl_easy_perform(curl)
    }
    guard status == CURLE_OK else { throw failure(status, curl, url, step) }
    return answer(curl, url)
  }

  private func answer(_ curl: UnsafeMutableRawPointer, _ url: ServerURL) -> HTTPResponse {
    var status = 0
    otchat_curl_get_long(curl, CURLINFO_RESPONSE_CODE, &status)
    Log.info("http", "\(client.logsPaths ? url.shown : url.origin) answered \(status)")
    return HTTPResponse(
      status: status, contentType: header(curl, "Content-Type"), server: header(curl, "Server"),
      date: header(curl, "Date"), body: body,
      url: url)
  }

  private func header(_ curl: UnsafeMutableRawPointer, _ name: String) -> String {
    var header: UnsafeMutablePointer<curl_header>?
    guard curl_easy_header(curl, name, 0, UInt32(CURLH_HEADER), -1, &header) == CURLHE_OK, let header,
      let value = header.pointee.value
    else { return "" }
    return String(cString: value)
  }

  private static func write(
    _ bytes: UnsafeMutablePointer<CChar>?, _ size: Int, _ count: Int, _ user: UnsafeMutableRawPointer?
  ) -> Int {
    guard let bytes, let user else { return 0 }
    let transfer = Unmanaged<Transfer>.fromOpaque(user).takeUnretainedValue()
    let total = size * count
    guard transfer.body.count + total <= transfer.client.maximumBodySize else {
      transfer.tooLarge = true
      return 0
    }
    transfer.body += UnsafeRawBufferPointer(start: bytes, count: total)
    return total
  }

  private func failure(
    _ status: CURLcode, _ curl: UnsafeMutableRawPointer, _ url: ServerURL, _ step: OpenTokError.Step
  ) -> OpenTokError {
    if pending.isCancelled { return .cancelled }
    if tooLarge { return .answerTooLarge(url: url.shown, limit: client.maximumBodySize) }
    let detail = String(cString: curl_easy_strerror(status))
    let more = problem.baseAddress.map { String(cString: $0) } ?? ""
    Log.info("http", "\(client.logsPaths ? url.shown : url.origin): \(more.isEmpty ? detail : more)")
    switch status {
    case CURLE_URL_MALFORMAT:
      return .invalidURL(url.shown)
    case CURLE_COULDNT_RESOLVE_HOST:
      return .hostNotFound(host: url.hostName)
    case CURLE_COULDNT_CONNECT:
      var error = 0
      otchat_curl_get_long(curl, CURLINFO_OS_ERRNO, &error)
      if error == Int(ECONNREFUSED) || error == 0 {
        return .connectionRefused(host: url.hostName, port: url.port)
      }
      return .unreachable(host: url.hostName, detail: String(cString: strerror(Int32(error))))
    case CURLE_OPERATION_TIMEDOUT:
      return .timedOut(step, seconds: client.timeout.seconds)
    case CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CONNECT_ERROR, CURLE_SSL_ISSUER_ERROR:
      if CertificateProblem.isNoTLS(more) { return .notTLS(host: url.hostName, port: url.port) }
      var verification = 0
      otchat_curl_get_long(curl, CURLINFO_SSL_VERIFYRESULT, &verification)
      // Of a handshake that never came to a certificate libcurl says 1, which is another name's otherwise.
      let isCertificate = verification != 0 && !(status == CURLE_SSL_CONNECT_ERROR && verification == 1)
      let reason = isCertificate ? CertificateProblem.text(verification) : "the handshake failed"
      return .tlsFailed(host: url.hostName, detail: reason)
    case CURLE_SSL_CACERT_BADFILE:
      return .certificateFileUnreadable(path: client.trust.certificateFile ?? "")
    case CURLE_GOT_NOTHING, CURLE_WEIRD_SERVER_REPLY, CURLE_UNSUPPORTED_PROTOCOL, CURLE_HTTP2,
      CURLE_BAD_CONTENT_ENCODING:
      return .notHTTP(url: url.shown)
    default:
      return .unreachable(host: url.hostName, detail: detail)
    }
  }
}

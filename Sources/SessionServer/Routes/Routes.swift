import Base
import OpenTokProtocol

/// All routes of the server (the table of `otchat serve`).
extension SessionServer {
  func makeRouter() -> Router {
    var router = Router()
    addPages(to: &router)
    addCredentials(to: &router)
    addModeration(to: &router)
    addArchives(to: &router)
    addProjectArchives(to: &router)
    addProject(to: &router)
    router.add([.get], Self.signallingPath) { _, _ in .failure(426, "this is for WebSockets") }
    router.add([.get], "/healthz") { _, _ in .json(JSON.object(["status": "ok"]).serialized()) }
    router.add([.get], "/metrics") { _, _ in
      HTTPResponse(
        contentType: "text/plain; version=0.0.4; charset=utf-8",
        body: [UInt8](self.metrics.text(self.gauges).utf8))
    }
    return router
  }

  private var gauges: ServerMetrics.Gauges {
    var gauges = ServerMetrics.Gauges()
    gauges.sessions = rooms.sessions.count
    gauges.connections = rooms.connectionCount
    gauges.streams = rooms.streamCount
    gauges.webSockets = web?.webSockets.count ?? 0
    gauges.tcpConnections = web?.connectionCount ?? 0
    for status in Archive.Status.allCases { gauges.archives[status.rawValue] = 0 }
    for archive in archives.archives.values { gauges.archives[archive.status.rawValue, default: 0] += 1 }
    gauges.uptimeSeconds = (MonotonicClock.now() - startedAt).seconds
    return gauges
  }

  private func addPages(to router: inout Router) {
    for path in ["/", "/test.html"] {
      router.add([.get], path) { request, _ in
        var page = Self.page(PackageResources.test_html, type: "text/html")
        // So the page can ask for credentials in its turn.
        if let cookie = self.access.cookie(for: request) { page.headers.append(("Set-Cookie", cookie)) }
        return page
      }
    }
    for path in ["/v2/js/opentok.js", "/v2/js/opentok.min.js"] {
      router.add([.get], path) { _, _ in
        Self.page(PackageResources.opentok_js, type: "text/javascript")
      }
    }
    router.add([.get], "/v2/js/opentok.d.ts") { _, _ in
      Self.page(PackageResources.opentok_d_ts, type: "text/plain")
    }
  }

  private static func page(_ bytes: [UInt8], type: String) -> HTTPResponse {
    var response = HTTPResponse(contentType: "\(type); charset=utf-8", body: bytes)
    response.headers.append(("Cache-Control", "no-cache"))
    return response
  }

  static let accessDenied = HTTPResponse.failure(403, "the access key is missing or wrong")
}

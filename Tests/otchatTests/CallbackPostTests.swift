import SessionServer
import TestSupport
import Testing

@testable import otchat

struct CallbackPostTests {
  @Test func jsonIsPosted() async throws {
    let receiver = try HTTPReceiver(statuses: [503, 302, 404, 204])
    defer { receiver.stop() }
    let url = receiver.url + "/events?key=1"
    let callbacks = Callbacks.posting(sessionURL: url, archiveURL: nil)
    for status in [503, 302, 404, 204] {
      let refusal = await callbacks.post(url, [UInt8](#"{"event":"x"}"#.utf8))
      #expect(refusal == (status == 204 ? nil : "its receiver answers \(status)"))
    }
    #expect(receiver.requests.count == 4)
    for request in receiver.requests {
      #expect(request.head.hasPrefix("POST /events?key=1 HTTP/1.1\r\n"))
      #expect(request.head.lowercased().contains("\r\ncontent-type: application/json"))
      #expect(String(decoding: request.body, as: UTF8.self) == #"{"event":"x"}"#)
    }
  }

  @Test func nobodyThereIsAFailure() async throws {
    let receiver = try HTTPReceiver(statuses: [200])
    receiver.stop()
    let url = receiver.url + "/secret?key=secret"
    let callbacks = Callbacks.posting(sessionURL: url, archiveURL: nil)
    try await eventually("the port is closed") {
      guard let refusal = await callbacks.post(url, []) else { return false }
      #expect(refusal.contains("connection refused") && !refusal.contains("secret"), "\(refusal)")
      return true
    }
  }

  @Test(arguments: [
    ("http://127.0.0.1:9/events", true), ("https://example.org/x?key=1", true), ("ws://example.org", false),
    ("", false), ("http:/example.org", false),
  ])
  func onlyHTTPIsTaken(_ text: String, _ isURL: Bool) { #expect(Callbacks.isURL(text) == isURL) }
}

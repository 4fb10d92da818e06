import Testing

@testable import OTKit

@Suite struct SocketInboxTests {
  @Test func passesOnWhatIsTakenInTime() {
    let inbox = SocketInbox()
    for number in 0..<(3 * SocketInbox.maximumMessages) {
      let message = WebSocketClient.Event.message([UInt8(truncatingIfNeeded: number)])
      #expect(inbox.put(message) == message)
      inbox.taken(message)
    }
    #expect(inbox.put(.closed(code: 1000)) == .closed(code: 1000))
  }

  @Test func tooManyMessagesEndTheSocketOnce() {
    let inbox = SocketInbox()
    let message = WebSocketClient.Event.message([1])
    #expect(inbox.put(.opened) == .opened)
    for _ in 0..<SocketInbox.maximumMessages { #expect(inbox.put(message) == message) }
    #expect(inbox.put(message) == .closed(code: 1006))
    // One is lost, so those after it may not come first.
    inbox.taken(message)
    #expect(inbox.put(message) == nil)
    #expect(inbox.put(.closed(code: 1000)) == nil)
  }

  @Test func tooManyBytesEndTheSocket() {
    let inbox = SocketInbox()
    let large = WebSocketClient.Event.message(
      [UInt8](repeating: 0, count: WebSocketClient.maximumMessageSize))
    let count = SocketInbox.maximumBytes / WebSocketClient.maximumMessageSize
    for _ in 0..<count { #expect(inbox.put(large) == large) }
    #expect(inbox.put(.message([1])) == .closed(code: 1006))
  }
}

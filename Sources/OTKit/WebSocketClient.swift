import Base
import OpenTokProtocol
import Synchronization

/// One WebSocket connection of a client (RFC 6455), binary messages only.
///
/// All connections of a process share one libwebsockets service thread. It has no timers: whoever opens
/// it decides how long to wait, and calls `abort`.
package final class WebSocketClient: Sendable {
  package enum Event: Sendable, Equatable {
    case opened
    case message([UInt8])
    /// The connection never came about. The last event.
    case failed(OpenTokError)
    /// The last event. 1005: a close frame without a code; 1006: no close frame (RFC 6455, 7.4.1).
    case closed(code: Int)
  }

  /// Larger incoming messages close the connection with 1009.
  package static let maximumMessageSize = RumorFrame.maximumServerSize
  /// How many bytes may wait for the network. A peer that takes no more than that is lost.
  package static let maximumQueuedBytes = 8 << 20

  private let id: UInt
  private let shared: SharedState
  private let isClosing = Atomic<Bool>(false)

  /// What is shared with the service thread: the bytes on their way to the network, and the end.
  final class SharedState: Sendable {
    let queuedBytes = Atomic<Int>(0)
    let isClosed = Atomic<Bool>(false)
    /// This machine's end, once connected.
    let localAddress = Lock<String?>(nil)
  }

  /// - Parameter events: called on the service thread, in order; must not block.
  package init(
    connectingTo url: ServerURL, trust: TLSTrust = .system, events: @escaping @Sendable (Event) -> Void
  ) {
    let shared = SharedState()
    self.shared = shared
    id = WebSocketService.shared.connect(to: url, trust: trust, shared: shared, events: events)
  }

  deinit {
    // A socket that is saying goodbye may finish.
    if !isClosing.load(ordering: .relaxed) { abort() }
  }

  /// Whether the last event has come.
  package var isClosed: Bool { shared.isClosed.load(ordering: .acquiring) }

  /// This machine's end of the connection, in text; nil before it is open.
  package var localAddress: String? { shared.localAddress.withLock { $0 } }

  /// Queues a message. Where the queue is full the connection is given up, and `closed` tells.
  package func send(_ message: [UInt8]) {
    guard shared.queuedBytes.add(message.count, ordering: .relaxed).newValue <= Self.maximumQueuedBytes else {
      return abort()
    }
    WebSocketService.shared.post(.send(id, message))
  }

  /// Sends what is queued, then a close frame.
  package func close(code: Int) {
    isClosing.store(true, ordering: .relaxed)
    WebSocketService.shared.post(.close(id, code))
  }

  /// Ends the connection without a close frame.
  package func abort() { WebSocketService.shared.post(.abort(id)) }
}

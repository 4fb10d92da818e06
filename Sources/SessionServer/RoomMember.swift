import Base
import OpenTokProtocol

/// A connection in a room, with or, for a grace period, without a WebSocket.
struct RoomMember: Sendable {
  let info: ConnectionInfo
  /// What it takes in the session's state.
  let infoBytes: Int
  /// Whoever knows it may resume this connection; nil if it cannot be resumed.
  let resumptionID: String?
  /// It does not want to hear of other connections.
  let suppressesConnectionEvents: Bool
  /// It sends each subscriber what that one prefers, and is told.
  let followsPreferences: Bool
  /// Of its token: what its streams begin with.
  let layoutClasses: [String]
  /// A recorder: the others do not know of it.
  let isHidden: Bool
  /// Nil while it is lost.
  var socket: RoomSocket?
  /// When something was last received; since when it is lost if it has no socket.
  var seen: Instant
  var signals: RoomRateLimit
  var signalBytes: RoomRateLimit
  var states: RoomRateLimit
  var requests: RoomRateLimit
  /// It does not take its messages as fast as they come, and is to be removed.
  var isOverwhelmed = false

  /// Messages by ascending number.
  private(set) var unacknowledged: [(number: Int, frame: RumorFrame)] = []
  private var unacknowledgedBytes = 0
  private var answers: [String: RumorFrame] = [:]
  private var answered: [String] = []

  init(
    _ info: ConnectionInfo, socket: RoomSocket?, resumptionID: String?, suppressesConnectionEvents: Bool,
    followsPreferences: Bool = false, layoutClasses: [String] = [], isHidden: Bool = false,
    limits: RoomConfiguration.Limits, at now: Instant
  ) {
    self.info = info
    infoBytes = info.json.serialized().count
    self.socket = socket
    self.resumptionID = resumptionID
    self.suppressesConnectionEvents = suppressesConnectionEvents
    self.followsPreferences = followsPreferences
    self.layoutClasses = layoutClasses
    self.isHidden = isHidden
    seen = now
    signals = RoomRateLimit(rate: limits.signalRate, burst: limits.signalBurst, at: now)
    signalBytes = RoomRateLimit(rate: limits.signalByteRate, burst: limits.signalByteBurst, at: now)
    states = RoomRateLimit(rate: limits.stateRate, burst: limits.stateBurst, at: now)
    requests = RoomRateLimit(rate: limits.requestRate, burst: limits.requestBurst, at: now)
  }

  var id: String { info.id }

  /// Keeps a message until it is acknowledged: after a reconnect it is sent again, and the client drops
  /// what it knows.
  mutating func keep(_ frame: RumorFrame, number: Int, limits: RoomConfiguration.Limits) {
    unacknowledged.append((number, frame))
    unacknowledgedBytes += frame.encodedSize
    if unacknowledged.count > limits.unacknowledgedMessages
      || unacknowledgedBytes > limits.unacknowledgedBytes
    {
      isOverwhelmed = true
    }
  }

  /// Half of what is kept for it is taken: what only passes through the room is refused then, so that who
  /// sends too much is told so instead of throwing the recipient out.
  func isBehind(_ limits: RoomConfiguration.Limits) -> Bool {
    unacknowledged.count > limits.unacknowledgedMessages / 2
      || unacknowledgedBytes > limits.unacknowledgedBytes / 2
  }

  mutating func acknowledge(_ number: Int) {
    var range = unacknowledged.indices
    while !range.isEmpty {
      let middle = range.lowerBound + range.count / 2
      switch unacknowledged[middle].number {
      case number:
        unacknowledgedBytes -= unacknowledged[middle].frame.encodedSize
        unacknowledged.remove(at: middle)
        return
      case ..<number: range = middle + 1..<range.upperBound
      default: range = range.lowerBound..<middle
      }
    }
  }

  func answer(to transactionID: String) -> RumorFrame? { answers[transactionID] }

  /// Keeps an answer for the case that the client asks again because the answer was lost.
  mutating func remember(_ answer: RumorFrame, to transactionID: String, limits: RoomConfiguration.Limits) {
    guard answers.updateValue(answer, forKey: transactionID) == nil else { return }
    answered.append(transactionID)
    if answered.count > limits.rememberedAnswers { answers[answered.removeFirst()] = nil }
  }
}

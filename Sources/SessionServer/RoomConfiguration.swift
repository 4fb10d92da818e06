import Base
import OpenTokProtocol

/// Number that the shell gives to a WebSocket; never used twice.
package typealias RoomSocket = Int

/// The time as rooms are told it.
package struct RoomTime: Equatable, Sendable {
  /// Of the monotonic clock: periods and rates.
  package var instant: Instant
  /// Milliseconds since 1970: creation times and tokens.
  package var unixMilliseconds: Int64

  package init(instant: Instant, unixMilliseconds: Int64) {
    self.instant = instant
    self.unixMilliseconds = unixMilliseconds
  }
}

package struct RoomConfiguration: Sendable {
  package var apiKey: String
  package var apiSecret: String
  /// Rumor address of the server; starts with `symphony.`.
  package var symphonyAddress: String
  /// What clients are told to use when they publish or subscribe.
  package var iceServers: ICEServerList
  /// Whose tokens make members whom no one sees.
  let archiverKey = ArchiverKey()
  /// How long a lost connection can be resumed before the others are told that it is gone. Clients try
  /// for 60 s; until then the others see a frozen picture.
  package var gracePeriod: Duration = .seconds(20)
  /// A WebSocket on which nothing came for so long is lost. Clients ping every 2 to 30 s.
  package var idleTimeout: Duration = .seconds(65)
  /// A WebSocket on which no connection was created is closed after so long.
  package var joinTimeout: Duration = .seconds(15)
  /// A WebSocket whose connection has ended is closed after so long if the client does not do it itself.
  package var farewellTimeout: Duration = .milliseconds(200)
  package var limits = Limits()

  package init(
    apiKey: String, apiSecret: String, symphonyAddress: String = "symphony.otchat",
    iceServers: ICEServerList = ICEServerList()
  ) {
    self.apiKey = apiKey
    self.apiSecret = apiSecret
    self.symphonyAddress = symphonyAddress
    self.iceServers = iceServers
  }

  /// Bounds on everything that clients can make grow.
  package struct Limits: Sendable {
    package var sockets = 4096
    package var sessions = 1024
    /// Messages on a WebSocket that has no connection.
    package var joinAttempts = 32
    package var connectionsPerSession = 512
    package var streamsPerSession = 256
    package var streamsPerConnection = 16
    package var subscribersPerConnection = 512
    /// Subscribers of one connection to one stream; web SDKs replace one by the next when media fails.
    package var subscribersPerStream = 4
    /// Messages for a connection that it has not acknowledged; with more it is lost.
    package var unacknowledgedMessages = 8192
    /// Bytes of them, headers included: with the state far below what a WebSocket queues, or the connection
    /// could never be resumed.
    package var unacknowledgedBytes = 1 << 20
    /// JSON text of a session's connections and streams, which who joins is sent in one message.
    package var stateBytes = 2_000_000
    /// Answers that are kept for requests that a client repeats after a reconnect.
    package var rememberedAnswers = 512
    /// Signals of a connection: per second on average, and at once.
    package var signalRate = 50.0
    package var signalBurst = 100.0
    /// Bytes of them, likewise: what one sends in the grace period has to fit into half of what is kept
    /// for a connection that is lost so long.
    package var signalByteRate = 16384.0
    package var signalByteBurst = 131072.0
    /// All requests of a connection: a publisher with many subscribers sends many candidates at once.
    package var requestRate = 1000.0
    package var requestBurst = 5000.0
    /// Requests that are answered with the session's whole state.
    package var stateRate = 5.0
    package var stateBurst = 20.0

    package init() {}
  }

  /// UTF-16 units of the JSON text of a signal's data.
  package static let maximumSignalData = 8192
  /// Bytes of the same.
  package static let maximumSignalBytes = 16 << 10
  /// Bytes of the JSON text of an ICE candidate's message.
  package static let maximumCandidate = 4 << 10
  /// Bytes of the JSON text of an offer's or answer's message.
  package static let maximumDescription = 128 << 10
  /// Characters of a signal's type.
  package static let maximumSignalType = 128
  /// Bytes of the ids that clients choose.
  package static let maximumID = 64
  /// Bytes of a stream's name in JSON, where some characters take six.
  package static let maximumName = 1024
}

/// Close codes of the WebSocket, with what they mean to clients.
package enum RoomCloseCode {
  package static let normal: UInt16 = 1000
  /// The server shuts down.
  package static let goingAway: UInt16 = 1001
  /// There is nothing to resume; clients give up.
  package static let cannotResume: UInt16 = 1003
  /// The client broke the protocol or a limit; it must not reconnect.
  package static let refused: UInt16 = 1011
  /// The server is about to be there again; clients connect again.
  package static let serviceRestart: UInt16 = 1012
  /// Nothing came for too long; clients connect again.
  package static let timeout: UInt16 = 4010
  /// Too many WebSockets.
  package static let tryAgainLater: UInt16 = 1013
  /// What is reported for a Close frame without a code.
  package static let noCode: UInt16 = 1005
  /// What is reported if there was no Close frame.
  package static let abnormal: UInt16 = 1006
}

/// What rooms want done, in this order.
package enum RoomOutput: Equatable, Sendable {
  case send(RumorFrame, to: RoomSocket)
  /// Close after what was sent before. Nothing more is sent there, `closed` for it is ignored.
  case close(RoomSocket, code: UInt16)
  /// Something to log; clients have been told by `send`.
  case event(RoomEvent)
}

package enum RoomEvent: Equatable, Sendable {
  case connectionCreated(session: String, ConnectionInfo)
  case connectionDestroyed(session: String, ConnectionInfo, reason: String)
  case streamCreated(session: String, StreamInfo)
  case streamDestroyed(session: String, StreamInfo, reason: String)
}

/// Why something that a client or the REST API asked for was not done.
package struct RoomRefusal: Error, Equatable, Sendable {
  /// An HTTP status, on the wire in the `STATUS` header.
  package var status: Int
  package var reason: String

  package init(_ status: Int, _ reason: String) {
    self.status = status
    self.reason = reason
  }

  static let notJoined = RoomRefusal(403, "not in the session")
  static let forbidden = RoomRefusal(403, "not permitted")
  static let malformed = RoomRefusal(400, "malformed")
  static let tooFast = RoomRefusal(429, "too many requests")
  static let tooLarge = RoomRefusal(413, "too large")
  static let noSession = RoomRefusal(404, "no such session")
  static let noConnection = RoomRefusal(404, "no such connection")
  static let noStream = RoomRefusal(404, "no such stream")
  static let noChannel = RoomRefusal(404, "no such channel")
  static let noSubscriber = RoomRefusal(404, "no such subscriber")
  static let noArchive = RoomRefusal(404, "no such archive")
  static let noResource = RoomRefusal(404, "no such resource")
  static let exists = RoomRefusal(409, "exists already")
  static let connectionLimit = RoomRefusal(409, "connectionLimitExceeded")
  static let streamLimit = RoomRefusal(409, "streamLimitExceeded")
}

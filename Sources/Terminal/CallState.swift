import Base

/// How the session is doing.
package enum CallConnection: Equatable, Sendable {
  /// What is being waited for: "asking for credentials".
  case connecting(String)
  case connected
  case reconnecting
  case disconnected(String)
}

/// A stream that is received.
package struct CallSubscriber: Equatable, Sendable {
  package let streamID: String
  package var name: String
  package var hasAudio: Bool
  package var hasVideo: Bool

  package init(streamID: String, name: String, hasAudio: Bool = true, hasVideo: Bool = true) {
    self.streamID = streamID
    self.name = name
    self.hasAudio = hasAudio
    self.hasVideo = hasVideo
  }
}

/// Figures of one direction over the last second; nil where there is none.
package struct CallFlow: Equatable, Sendable {
  package var width: Int?
  package var height: Int?
  package var framesPerSecond: Double?
  package var bitsPerSecond: Double?
  /// 0–1.
  package var packetLoss: Double?
  /// dBFS.
  package var audioLevel: Double?

  package init(
    width: Int? = nil, height: Int? = nil, framesPerSecond: Double? = nil, bitsPerSecond: Double? = nil,
    packetLoss: Double? = nil, audioLevel: Double? = nil
  ) {
    self.width = width
    self.height = height
    self.framesPerSecond = framesPerSecond
    self.bitsPerSecond = bitsPerSecond
    self.packetLoss = packetLoss
    self.audioLevel = audioLevel
  }
}

package struct CallStatistics: Equatable, Sendable {
  /// The shown stream.
  package var received: CallFlow
  package var sent: CallFlow
  package var roundTripTime: Duration?
  /// From the other's capture to here, for our own test pattern.
  package var endToEndLatency: Duration?
  /// Further figures for the overlay, in order.
  package var details: [Detail]

  package struct Detail: Equatable, Sendable {
    package let name: String
    package let value: String

    package init(_ name: String, _ value: String) {
      self.name = name
      self.value = value
    }
  }

  package init(
    received: CallFlow = CallFlow(), sent: CallFlow = CallFlow(), roundTripTime: Duration? = nil,
    endToEndLatency: Duration? = nil, details: [Detail] = []
  ) {
    self.received = received
    self.sent = sent
    self.roundTripTime = roundTripTime
    self.endToEndLatency = endToEndLatency
    self.details = details
  }
}

/// What is done to a picture before it is shown.
package enum PictureFilter: String, CaseIterable, Sendable {
  case none, mono

  package var next: PictureFilter {
    let all = Self.allCases
    return all[((all.firstIndex(of: self) ?? 0) + 1) % all.count]
  }
}

/// Everything the terminal shows of a call. Changed by `update`, drawn by `view`.
package struct CallState: Equatable, Sendable {
  package struct ChatLine: Equatable, Sendable {
    let from: String
    let text: String
    let isOwn: Bool
    let time: Instant
  }

  struct Notice: Equatable, Sendable {
    let text: String
    let until: Instant
  }

  enum Overlay: Equatable, Sendable {
    case help, statistics
  }

  static let chatLimit = 100
  static let noticeLimit = 3
  static let chatVisible = Duration.seconds(20)
  static let noticeVisible = Duration.seconds(6)

  package var ownName: String
  package var isPublishing: Bool
  package var microphoneOn: Bool
  package var cameraOn: Bool
  package var subscriberAudioOn: Bool
  package var showsSelfView: Bool
  package var filter: PictureFilter
  package internal(set) var connection = CallConnection.connecting("connecting")
  package internal(set) var subscribers: [CallSubscriber] = []
  /// Those of them whose media does not come.
  var silent: Set<String> = []
  /// How many streams of others there are, received or not.
  var others = 0
  /// Whether somebody else was here before.
  var hadCompany = false
  /// Whether the session ends for all when we leave.
  var isHosting = false
  /// The stream that fills the screen.
  package internal(set) var selected: String?
  /// The page where others can join.
  package internal(set) var shareURL: String?
  package internal(set) var statistics: CallStatistics?
  package internal(set) var chat: [ChatLine] = []
  package internal(set) var isArchiving = false
  var notices: [Notice] = []
  var overlay: Overlay?
  /// The chat line being typed.
  var input: LineEditor?
  var now: Instant = .zero

  package init(
    ownName: String, isPublishing: Bool = true, microphoneOn: Bool = true, cameraOn: Bool = true,
    subscriberAudioOn: Bool = true, showsSelfView: Bool = false, filter: PictureFilter = .none
  ) {
    self.ownName = ownName
    self.isPublishing = isPublishing
    self.microphoneOn = microphoneOn
    self.cameraOn = cameraOn
    self.subscriberAudioOn = subscriberAudioOn
    self.showsSelfView = showsSelfView
    self.filter = filter
  }

  var shown: CallSubscriber? { subscribers.first { $0.streamID == selected } }

  var visibleChat: ArraySlice<ChatLine> {
    input != nil
      ? chat[...] : chat[(chat.firstIndex { now < $0.time + Self.chatVisible } ?? chat.endIndex)...]
  }
}

import Base

/// How the session is doing.
package enum CallConnection: Equatable, Sendable {
  /// What is being waited for: "asking for credentials".
  case connecting(String)
  case connected
  /// Why: "the server does not answer".
  case reconnecting(String)
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

/// Everything the terminal shows of a call. Changed by `update`, drawn by `view`.
package struct CallState: Equatable, Sendable {
  package struct ChatLine: Equatable, Sendable {
    let from: String
    let text: String
    let isOwn: Bool
    let clock: String
    let time: Instant
  }

  struct Notice: Equatable, Sendable {
    let text: String
    let until: Instant
  }

  enum Overlay: Equatable, Sendable {
    case help, statistics, participants
  }

  static let chatLimit = 500
  /// Lines that a page key goes back.
  static let chatPage = 5
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
  /// Those of them whose picture is off for lack of bandwidth.
  var paused: Set<String> = []
  /// How many get no picture of us for lack of bandwidth.
  var pausedOwn = 0
  /// How many streams of others there are, received or not.
  var others = 0
  /// Whether somebody else was here before.
  var hadCompany = false
  /// Whether the session ends for all when we leave.
  var isHosting = false
  /// The stream that figures and keys are about: it fills the screen, or it is marked in the grid.
  package internal(set) var selected: String?
  /// Of several streams the selected one fills the screen.
  package internal(set) var isEnlarged = false
  var speaker = ActiveSpeaker()
  /// The page where others can join.
  package internal(set) var shareURL: String?
  package internal(set) var statistics: CallStatistics?
  var history = CallHistory()
  package internal(set) var chat: [ChatLine] = []
  /// How many of the newest lines lie below what is shown of the chat; nil: it is not being read back.
  var chatOffset: Int?
  package internal(set) var isArchiving = false
  var notices: [Notice] = []
  var overlay: Overlay?
  var roster = Roster()
  /// The chat line being typed.
  var input: LineEditor?
  /// Nil unless the space bar is for speaking.
  package internal(set) var talk: PushToTalk?
  var now: Instant = .zero

  package init(
    ownName: String, isPublishing: Bool = true, microphoneOn: Bool = true, cameraOn: Bool = true,
    subscriberAudioOn: Bool = true, showsSelfView: Bool = false, filter: PictureFilter = .none,
    pushToTalk: Bool = false
  ) {
    self.ownName = ownName
    self.isPublishing = isPublishing
    self.microphoneOn = microphoneOn
    self.cameraOn = cameraOn
    self.subscriberAudioOn = subscriberAudioOn
    self.showsSelfView = showsSelfView
    self.filter = filter
    talk = pushToTalk ? PushToTalk() : nil
  }

  var shown: CallSubscriber? { subscribers.first { $0.streamID == selected } }

  /// The figures of the selected stream.
  var shownFlow: CallFlow? { selected.flatMap { statistics?.received[$0] } }

  /// Whether several streams are shown beside each other.
  var showsGrid: Bool { subscribers.count > 1 && !isEnlarged }

  /// Lines of the chat that are shown, if there is room: all while one types or reads back, else new ones.
  var visibleChat: ArraySlice<ChatLine> {
    if let chatOffset { return chat.dropLast(chatOffset) }
    return input != nil
      ? chat[...] : chat[(chat.firstIndex { now < $0.time + Self.chatVisible } ?? chat.endIndex)...]
  }
}

import Base
import Codecs
import MediaIO
import Peer

/// A stream that is received.
public final class Subscriber: Sendable {
  struct State {
    var audioOn: Bool
    var videoOn: Bool
    /// 0 to 1.
    var volume = 1.0
    var receiver: AudioReceiver
    /// Unsubscribed; it is not to be tried again.
    var isEnded = false
    var hasBeenHeard = false
    /// Where it failed the last time.
    var failure: OpenTokError.Stage?
    weak var session: Session?
  }

  public let streamID: String
  let pipeline: VideoSubscribePipeline
  let offset: MediaOffset
  let keyFrames: KeyFrameRequests
  /// Gets what comes as it is encoded.
  let sink: (any EncodedMediaSink)?
  /// Or it is only handed to `sink`.
  let decodes: Bool
  let state: Lock<State>

  init(
    streamID: String, session: Session, options: Session.SubscribeOptions, receiver: AudioReceiver,
    offset: MediaOffset, pipeline: VideoSubscribePipeline, keyFrames: KeyFrameRequests,
    sink: (any EncodedMediaSink)?
  ) {
    self.streamID = streamID
    self.sink = sink
    decodes = options.decodes
    self.offset = offset
    self.pipeline = pipeline
    self.keyFrames = keyFrames
    state = Lock(
      State(
        audioOn: options.subscribeToAudio, videoOn: options.subscribeToVideo, receiver: receiver,
        session: session))
  }

  public var isSubscribedToAudio: Bool { state.withLock { $0.audioOn } }
  public var isSubscribedToVideo: Bool { state.withLock { $0.videoOn } }

  /// Sound on or off, here only.
  public func subscribeToAudio(_ on: Bool) async {
    state.withLock { $0.audioOn = on }
    await session?.applySwitches(of: self)
  }

  /// Picture on or off, here only.
  public func subscribeToVideo(_ on: Bool) async {
    let changed = state.withLock { state in
      defer { state.videoOn = on }
      return state.videoOn != on
    }
    if changed { await session?.applySwitches(of: self) }
  }

  /// - Parameter volume: 0 to 1.
  public func setAudioVolume(_ volume: Double) {
    let receiver = state.withLock { state in
      state.volume = volume
      return state.receiver
    }
    receiver.setVolume(volume)
  }

  /// Called with each picture when it is due, on the decoder's thread; must not block. Nil: none.
  package func setRenderer(_ renderer: (any VideoSink)?) { pipeline.setRenderer(renderer) }

  var receiver: AudioReceiver { state.withLock { $0.receiver } }

  /// True once.
  func isFirstSound() -> Bool {
    state.withLock { state in
      defer { state.hasBeenHeard = true }
      return !state.hasBeenHeard
    }
  }

  private var session: Session? { state.withLock { $0.session } }

  /// The decoder's way to ask for key frames, whichever peer connection the stream comes over just now.
  final class KeyFrameRequests: Sendable {
    private struct Target {
      weak var peer: SubscriberPeer?
    }

    private let target = Lock(Target())

    func set(_ peer: SubscriberPeer) { target.withLock { $0.peer = peer } }

    func request() {
      guard let peer = target.withLock({ $0.peer }) else { return }
      NetworkActor.perform { peer.requestKeyFrame() }
    }
  }
}

extension Session {
  public struct SubscribeOptions: Sendable, Equatable {
    public var subscribeToAudio: Bool
    public var subscribeToVideo: Bool
    /// Off for who only records: nothing is decoded, and statistics of sound and picture stay at zero.
    package var decodes = true

    public init(subscribeToAudio: Bool = true, subscribeToVideo: Bool = true) {
      self.subscribeToAudio = subscribeToAudio
      self.subscribeToVideo = subscribeToVideo
    }
  }
}

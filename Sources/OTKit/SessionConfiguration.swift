import Base
import Peer

/// A STUN or TURN server.
public struct ICEServer: Sendable, Equatable {
  /// `stun:HOST[:PORT]`, `turn:HOST[:PORT][?transport=udp|tcp]`, `turns:…`.
  public var urls: [String]
  public var username: String?
  public var credential: String?

  public init(urls: [String], username: String? = nil, credential: String? = nil) {
    self.urls = urls
    self.username = username
    self.credential = credential
  }
}

extension Session {
  public struct Configuration: Sendable {
    /// The OpenTok API to ask about the session; nil: OpenTok's public one.
    public var apiURL: String?
    public var trust: TLSTrust
    /// For each step of connecting.
    public var timeout: Duration
    /// Beside those that the server names.
    public var iceServers: [ICEServer]
    /// Media through TURN servers only.
    public var relayOnly: Bool
    /// Where received sound goes: `null`, `file:PATH.wav`, `speaker[:NAME]`, `auto` (a loudspeaker, else nowhere).
    public var audioSink: String
    /// A sound device of your own. What it captures is published in place of publishers' `audioSource`, and it
    /// plays in place of `audioSink`, as far as it can either.
    public var audioDevice: (any AudioDevice)?
    /// Of the published sound.
    public var audio: AudioOptions
    /// From when `sinceStart` in events counts.
    package var start = MonotonicClock.now()
    /// For the publisher of a stream to make its offer.
    package var offerTimeout: Duration = .seconds(10)
    /// For finding lost signalling again, while sound and picture go on.
    package var reconnectionLimit: Duration = .seconds(60)
    /// Before a failed subscription is made again.
    package var retryDelay: Duration = .seconds(1)
    /// A network for media that is worse than the real one.
    package var link: ImpairedLink?
    /// Gets all packets of media as they are without encryption.
    package var capture: PacketCapture?
    /// Writes all session descriptions to where diagnostics go, without the passwords in them.
    package var logsDescriptions = false

    public init(
      apiURL: String? = nil, trust: TLSTrust = .system, timeout: Duration = .seconds(10),
      iceServers: [ICEServer] = [], relayOnly: Bool = false, audioSink: String = "null",
      audioDevice: (any AudioDevice)? = nil, audio: AudioOptions = AudioOptions()
    ) {
      self.apiURL = apiURL
      self.trust = trust
      self.timeout = timeout
      self.iceServers = iceServers
      self.relayOnly = relayOnly
      self.audioSink = audioSink
      self.audioDevice = audioDevice
      self.audio = audio
    }
  }

  /// How published sound is encoded (Opus).
  public struct AudioOptions: Sendable, Equatable {
    /// Bits per second.
    public var bitrate: Int
    public var stereo: Bool
    /// Sends next to nothing while it is quiet.
    public var dtx: Bool
    /// Takes echo and steady noise out of a microphone's sound and evens its level.
    public var processesMicrophone: Bool

    public init(
      bitrate: Int = 40_000, stereo: Bool = false, dtx: Bool = false, processesMicrophone: Bool = true
    ) {
      self.bitrate = bitrate
      self.stereo = stereo
      self.dtx = dtx
      self.processesMicrophone = processesMicrophone
    }
  }
}

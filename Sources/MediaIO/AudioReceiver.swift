import Base
import RTP

/// One subscribed sound: takes packets from the network thread; the audio thread plays them.
package final class AudioReceiver: Sendable {
  /// Names as in W3C webrtc-stats; sums of samples are of one channel.
  package struct Statistics: Sendable, Equatable {
    package var jitterBuffer = AudioJitterBufferStatistics()
    package var packetsReceived = 0
    /// Given up because the audio thread did not take them in time, or the jitter buffer got them too late.
    package var packetsDiscarded = 0
    package var packetsCorrupted = 0
    /// RMS of the last 100 ms in dBFS, -127 to 0, before volume and mute.
    package var audioLevel = -127.0
    package var totalAudioEnergy = 0.0
    /// Seconds.
    package var totalSamplesDuration = 0.0
  }

  struct Settings {
    var volume = 1.0
    var muted = false
    var minimumDelay = Duration.zero
  }

  struct State {
    var settings = Settings()
    var jitterBuffer = AudioJitterBufferStatistics()
    var packetsCorrupted = 0
    var audioLevel = -127.0
    var totalAudioEnergy = 0.0
    var totalSamplesDuration = 0.0
    var position: AudioPlayoutPosition?
    var tone = ToneMeter()
    var received = 0
  }

  let mailbox = Mailbox<ReceivedAudioPacket>(capacity: 256, overflow: .dropOldest)
  let state = Lock(State())
  let offset: MediaOffset?

  init(offset: MediaOffset?) { self.offset = offset }

  /// From the network thread; order, gaps and duplicates do not matter. Never blocks.
  package func push(_ packet: ReceivedAudioPacket) {
    state.withLock { $0.received += 1 }
    mailbox.put(packet)
  }

  /// - Parameter volume: factor, 0 to 2.
  package func setVolume(_ volume: Double) {
    state.withLock { $0.settings.volume = volume.isFinite ? min(max(volume, 0), 2) : 1 }
  }

  package func setMuted(_ muted: Bool) { state.withLock { $0.settings.muted = muted } }

  /// Playback is held back at least so much, so that the picture can keep up.
  package func setMinimumDelay(_ delay: Duration) {
    state.withLock { $0.settings.minimumDelay = min(max(delay, .zero), .seconds(2)) }
  }

  /// What is being heard; nil before the start.
  package var playoutPosition: AudioPlayoutPosition? { state.withLock { $0.position } }

  package var statistics: Statistics {
    let dropped = mailbox.dropped
    return state.withLock {
      Statistics(
        jitterBuffer: $0.jitterBuffer, packetsReceived: $0.received,
        packetsDiscarded: $0.jitterBuffer.packetsDiscarded + dropped, packetsCorrupted: $0.packetsCorrupted,
        audioLevel: $0.audioLevel, totalAudioEnergy: $0.totalAudioEnergy,
        totalSamplesDuration: $0.totalSamplesDuration)
    }
  }

  /// The loudest frequency of the last 85 ms, in Hz; nil in silence.
  package var toneHz: Double? { state.withLock { $0.tone }.frequency }
}

import Base
import RTP
import Synchronization

/// One subscribed sound: takes packets from the network thread; the audio thread plays them.
package final class AudioReceiver: Sendable {
  /// Names as in W3C webrtc-stats; sums of samples are of one channel.
  package struct Statistics: Sendable, Equatable {
    package var packetsReceived = 0
    /// Given up because the audio thread did not take them in time.
    package var packetsDiscarded = 0
    package var packetsCorrupted = 0
    package var totalSamplesReceived = 0
    package var concealedSamples = 0
    package var silentConcealedSamples = 0
    package var concealmentEvents = 0
    /// Packets rebuilt from the one after.
    package var fecPacketsReceived = 0
    package var insertedSamplesForDeceleration = 0
    package var removedSamplesForAcceleration = 0
    /// Seconds, summed over the samples emitted.
    package var jitterBufferDelay = 0.0
    package var jitterBufferTargetDelay = 0.0
    package var jitterBufferEmittedCount = 0
    /// RMS of the last 100 ms in dBFS, -127 to 0, before volume and mute.
    package var audioLevel = -127.0
    package var totalAudioEnergy = 0.0
    /// Seconds.
    package var totalSamplesDuration = 0.0
  }

  /// Which sound is just being heard.
  package struct PlayoutPosition: Sendable, Equatable {
    /// Extended RTP timestamp.
    package var timestamp: Int64
    package var at: Instant
  }

  struct Settings {
    var volume = 1.0
    var muted = false
    var minimumDelay = Duration.zero
  }

  struct State {
    var settings = Settings()
    var statistics = Statistics()
    var position: PlayoutPosition?
    var tone = ToneMeter()
    var received = 0
  }

  let mailbox = Mailbox<ReceivedAudioPacket>(capacity: 256, overflow: .dropOldest)
  let state = Mutex(State())
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

  package var playoutPosition: PlayoutPosition? { state.withLock { $0.position } }

  package var statistics: Statistics {
    let dropped = mailbox.dropped
    return state.withLock {
      var statistics = $0.statistics
      statistics.packetsReceived = $0.received
      statistics.packetsDiscarded += dropped
      return statistics
    }
  }

  /// The loudest frequency of the last 85 ms, in Hz; nil in silence.
  package var toneHz: Double? { state.withLock { $0.tone }.frequency }
}

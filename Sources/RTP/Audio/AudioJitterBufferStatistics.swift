/// Counters of a jitter buffer, named as in W3C webrtc-stats; samples are a channel's at 48 kHz.
package struct AudioJitterBufferStatistics: Equatable, Sendable {
  /// Sum over the samples played of the time their packet waited, in seconds.
  package var jitterBufferDelay = 0.0
  package var jitterBufferTargetDelay = 0.0
  /// What the target would have been without lip sync.
  package var jitterBufferMinimumDelay = 0.0
  package var jitterBufferEmittedCount = 0
  package var totalSamplesReceived = 0
  package var concealedSamples = 0
  package var silentConcealedSamples = 0
  package var concealmentEvents = 0
  package var insertedSamplesForDeceleration = 0
  package var removedSamplesForAcceleration = 0
  /// Frames played from a copy that came with a later packet: in-band FEC, or RFC 2198.
  package var framesRecovered = 0
  /// Too late, or no Opus; copies that were not needed do not count.
  package var packetsDiscarded = 0
  package var packetsDuplicated = 0

  package init() {}
}

import Base
import Codecs
import RTP

/// All sound of a participant, on one thread that works in ticks of 10 ms: source → Opus, and received packets →
/// jitter buffers → decoders → one mix → sink. It wakes when there is something to encode or to decode: every
/// 20 ms, unless several packets fall on different ticks; every 100 ms without source and sink.
///
/// The thread keeps absolute deadlines. After being held up it catches up to 200 ms; longer gaps are
/// skipped and counted.
package final class AudioEngine: Sendable {
  /// Of the published sound; names as in W3C webrtc-stats.
  package struct Statistics: Sendable, Equatable {
    package var sourceName = ""
    /// A source that plays once is at its end.
    package var sourceEnded = false
    package var packetsEncoded = 0
    package var bytesEncoded = 0
    package var encoderErrors = 0
    /// Seconds.
    package var totalEncodeTime = 0.0
    /// RMS of the last 20 ms in dBFS, -127 to 0; what is sent, so -127 while muted.
    package var audioLevel = -127.0
    package var totalAudioEnergy = 0.0
    /// Seconds.
    package var totalSamplesDuration = 0.0
    /// 10 ms ticks that came late and were caught up with, and those that were skipped.
    package var lateTicks = 0
    package var skippedTicks = 0
    /// Of the microphone and the loudspeaker; nil without one.
    package var capture: AudioDeviceStatistics?
    package var playout: AudioDeviceStatistics?
  }

  struct Control {
    var source: Handover?
    var sourceChanged = false
    var muted = false
    var packetLoss = 0.0
    var playoutMuted = false
    var receivers: [AudioReceiver] = []
    var stopped = false
  }

  /// A source or sink on its way to the audio thread.
  struct Handover: @unchecked Sendable {
    // Safe to send: they come from `sending` parameters, so nobody else holds them.
    var source: (any AudioSource)?
    var sink: (any AudioSink)?
  }

  let configuration: OpusEncoder.Configuration
  /// Whether a microphone's sound is cleaned of echo and noise.
  let processesMicrophone: Bool
  let output: @Sendable (EncodedAudioFrame) -> Void
  let failed: @Sendable (SourceError) -> Void
  let control: Lock<Control>
  let published = Lock(Statistics())
  private let sink: Lock<Handover?>
  /// The first one is to begin.
  private let calls = Semaphore(value: 1)
  private let thread = Lock<MediaThread?>(nil)

  /// - Parameters:
  ///   - source: nil if nothing is published.
  ///   - sink: nil if nobody listens.
  ///   - processesMicrophone: whether a microphone's sound is cleaned of echo and noise, and its level evened.
  ///   - failed: a source or the sink could not be started; silence takes its place. On the audio thread.
  ///   - output: called on the audio thread; must not block.
  package init(
    source: sending (any AudioSource)?, sink: sending (any AudioSink)?,
    configuration: OpusEncoder.Configuration = OpusEncoder.Configuration(), processesMicrophone: Bool = false,
    failed: @escaping @Sendable (SourceError) -> Void = { _ in },
    output: @escaping @Sendable (EncodedAudioFrame) -> Void
  ) {
    self.configuration = configuration
    self.processesMicrophone = processesMicrophone
    self.output = output
    self.failed = failed
    let handover = Handover(source: source)
    control = Lock(Control(source: handover, sourceChanged: true))
    self.sink = Lock(Handover(sink: sink))
  }

  /// Does nothing if it has been started before.
  package func start() throws(ThreadError) {
    guard let handover = sink.withLock({ $0.take() }) else { return }
    let loop = try MediaThread.start(name: "audio") { [self] in AudioLoop.run(self, handover.sink, calls) }
    thread.withLock { $0 = loop }
  }

  /// Ends the thread and waits for it, a second at most. Not to be called on it.
  package func stop() {
    control.withLock { $0.stopped = true }
    calls.post()
    thread.withLock { $0 }?.join(until: MonotonicClock.now() + .seconds(1))
  }

  /// From the next 10 ms on; nil: nothing is sent any more.
  package func setSource(_ source: sending (any AudioSource)?) {
    let handover = Handover(source: source)
    control.withLock {
      $0.source = handover
      $0.sourceChanged = true
    }
    calls.post()
  }

  /// Microphone off: silence is sent, in a few bytes.
  package func setMuted(_ muted: Bool) { control.withLock { $0.muted = muted } }

  /// - Parameter fraction: of our packets that a receiver misses, 0 to 1; error correction grows with it.
  package func setPacketLoss(_ fraction: Double) { control.withLock { $0.packetLoss = fraction } }

  /// All received sound off; levels are still measured.
  package func setPlayoutMuted(_ muted: Bool) { control.withLock { $0.playoutMuted = muted } }

  /// - Parameter offset: measures sound against picture, if both are the test pattern's.
  package func addReceiver(offset: MediaOffset? = nil) -> AudioReceiver {
    let receiver = AudioReceiver(offset: offset)
    control.withLock { $0.receivers.append(receiver) }
    return receiver
  }

  package func removeReceiver(_ receiver: AudioReceiver) {
    control.withLock { control in control.receivers.removeAll { $0 === receiver } }
  }

  package var statistics: Statistics { published.withLock { $0 } }
}

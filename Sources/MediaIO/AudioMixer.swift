import Base
import Codecs

/// The subscribing half of the audio thread: adds up all receivers and hands the sum to the sink.
struct AudioMixer: ~Copyable {
  private static let count = AudioFormat.samplesPerChunk * 2

  private var sink: (any AudioSink)?
  private var playouts: [ObjectIdentifier: AudioPlayout] = [:]
  /// Whether the next tick's sound has been decoded already, everybody's.
  private(set) var isAhead = true
  private let sum = UnsafeMutableBufferPointer<Int32>.allocate(capacity: Self.count)
  private let samples = UnsafeMutableBufferPointer<Int16>.allocate(capacity: Self.count)

  /// - Parameter sink: nil if nobody listens; what is received is still decoded and measured.
  init(_ sink: (any AudioSink)?) {
    self.sink = sink
    sum.initialize(repeating: 0)
    samples.initialize(repeating: 0)
  }

  deinit {
    sum.deallocate()
    samples.deallocate()
  }

  /// How the loudspeaker has been doing.
  var device: AudioDeviceStatistics? { sink?.statistics }

  /// The sink could not be started; what is received is still decoded and measured.
  mutating func dropSink() { sink = nil }

  /// Whether anybody listens, muted or not.
  var hasSink: Bool { sink != nil }

  /// 10 ms that are heard from `time` on.
  /// - Parameters:
  ///   - limit: what arrived later is for later ticks; nil: there is no such thing.
  ///   - processor: is told what a loudspeaker gets, and the microphone beside it may hear.
  mutating func tick(
    at time: Instant, _ receivers: [AudioReceiver], arrivedBy limit: Instant?, muted: Bool,
    _ processor: AudioProcessor? = nil
  ) {
    let isHeard = sink != nil && !muted
    if isHeard { sum.update(repeating: 0) }
    isAhead = true
    for receiver in receivers {
      guard let playout = playout(of: receiver) else { continue }
      playout.tick(at: time, arrivedBy: limit, into: isHeard ? sum : nil)
      isAhead = isAhead && playout.isAhead
    }
    if playouts.count > receivers.count {
      let present = Set(receivers.map { ObjectIdentifier($0) })
      playouts = playouts.filter { present.contains($0.key) }
    }
    guard let sink else { return }
    if isHeard {
      for index in 0..<Self.count { samples[index] = Int16(clamping: sum[index]) }
    } else {
      samples.update(repeating: 0)
    }
    sink.write(UnsafeBufferPointer(samples))
    if sink is Loudspeaker { processor?.played(UnsafeBufferPointer(samples)) }
  }

  mutating func stop() {
    sink?.stop()
    sink = nil
  }

  private mutating func playout(of receiver: AudioReceiver) -> AudioPlayout? {
    let identifier = ObjectIdentifier(receiver)
    if let playout = playouts[identifier] { return playout }
    do {
      let playout = try AudioPlayout(receiver)
      playouts[identifier] = playout
      return playout
    } catch {
      Log.error("MediaIO", "Opus: \(error)")
      return nil
    }
  }
}

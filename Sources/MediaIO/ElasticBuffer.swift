import Base
import Codecs
import Glibc

/// Sound between two threads that follow different clocks: a device's and the audio thread's. It keeps just
/// enough sound that the reader seldom finds too little, by reading a little faster or slower than real time
/// (at most 0.5 %); so no difference of clocks adds up.
///
/// The only place where drift and missing sound of devices are dealt with, both ways.
final class ElasticBuffer: Sendable {
  struct Statistics: Sendable, Equatable {
    /// Times when the reader found too little and got silence, and how many frames of it.
    var underruns = 0
    var missingFrames = 0
    /// Frames that were thrown away because far too much had gathered.
    var droppedFrames = 0
    /// What lies between writer and reader, in frames.
    var fill = 0
    /// How much faster than real time it is read: 0.001 is 0.1 %.
    var correction = 0.0
  }

  private struct State {
    /// Interleaved: what is kept for the resampler's taps, then what waits.
    var samples: [Int16]
    /// Frames in `samples`.
    var count = 0
    /// Where the next frame is read, counted from the end of what is kept.
    var position = 0.0
    var correction = 0.0
    /// Frames that should be left over after each read, in the worst case.
    var target = ElasticBuffer.smallestTarget
    var isPrimed = false
    var hasBegun = false
    /// The least that was left over in this second's reads, and how many there were.
    var least = Int.max
    var reads = 0
    var calmSeconds = 0
    var statistics = Statistics()
  }

  private static let past = FractionalResampler.past
  private static let future = FractionalResampler.future
  /// 10 ms.
  private static let smallestTarget = 480
  private static let largestTarget = 9_600
  private static let step = 480
  /// A second: what comes beyond is dropped.
  private static let capacity = 48_000
  /// Beyond that much too much, sound is left out at once.
  private static let tolerance = 4_800
  /// Nothing is corrected within 2 ms.
  private static let deadBand = 96
  private static let largestCorrection = 0.005
  /// Frames over which an error is worked off.
  private static let correctionTime = 96_000.0
  /// After so long without an underrun less is kept.
  private static let calm = 30

  private let channels: Int
  private let state: Lock<State>

  init(channels: Int) {
    self.channels = channels
    let samples = [Int16](repeating: 0, count: (Self.past + Self.capacity + Self.future) * channels)
    state = Lock(State(samples: samples, count: Self.past))
  }

  var statistics: Statistics { state.withLock { $0.statistics } }

  /// - Parameter frames: interleaved, at 48 kHz, as they come.
  func write(_ frames: UnsafeBufferPointer<Int16>) {
    state.withLock { state in
      let room = state.samples.count / channels - state.count
      let count = min(room, frames.count / channels)
      state.statistics.droppedFrames += frames.count / channels - count
      guard count > 0, let source = frames.baseAddress else { return }
      state.samples.withUnsafeMutableBufferPointer { samples in
        guard let base = samples.baseAddress else { return }
        (base + state.count * channels).update(from: source, count: count * channels)
      }
      state.count += count
    }
  }

  /// Fills `frames`, with silence if there is too little.
  /// - Returns: false for silence.
  @discardableResult
  func read(into frames: UnsafeMutableBufferPointer<Int16>) -> Bool {
    state.withLock { state in
      let wanted = frames.count / channels
      let available = state.count - Self.past - Self.future
      state.statistics.fill = max(0, available)
      let needed = Int((state.position + Double(wanted) * (1 + state.correction)).rounded(.up)) + 1
      guard available >= needed + (state.isPrimed ? 0 : state.target) else {
        miss(wanted, &state)
        frames.update(repeating: 0)
        return false
      }
      if !state.isPrimed { begin(surplus: available - needed - state.target, &state) }
      take(frames, &state)
      observe(left: state.count - Self.past - Self.future, &state)
      return true
    }
  }

  /// After silence nobody misses what is more than enough.
  private func begin(surplus: Int, _ state: inout State) {
    if state.hasBegun { state.statistics.droppedFrames += surplus }
    discard(surplus, &state)
    state.isPrimed = true
    state.hasBegun = true
  }

  private func miss(_ wanted: Int, _ state: inout State) {
    // Before the first sound, and while it gathers again, nothing more is wrong.
    if state.hasBegun { state.statistics.missingFrames += wanted }
    guard state.isPrimed else { return }
    state.isPrimed = false
    state.statistics.underruns += 1
    state.target = min(state.target + Self.step, Self.largestTarget)
    state.calmSeconds = 0
    beginSecond(&state)
  }

  private func take(_ frames: UnsafeMutableBufferPointer<Int16>, _ state: inout State) {
    let (position, step) = (state.position, 1 + state.correction)
    let end = state.samples.withUnsafeMutableBufferPointer { samples -> Double in
      guard let base = samples.baseAddress else { return position }
      // Between samples only where it has to be.
      if position == 0, step == 1 {
        frames.baseAddress?.update(from: base + Self.past * channels, count: frames.count)
        return Double(frames.count / channels)
      }
      return FractionalResampler.read(base, channels: channels, position: position, step: step, into: frames)
    }
    let whole = Int(end)
    state.position = end - Double(whole)
    discard(whole, &state)
  }

  /// Moves on by that many frames.
  private func discard(_ count: Int, _ state: inout State) {
    state.count -= count
    state.samples.withUnsafeMutableBytes { bytes in
      guard let base = bytes.baseAddress else { return }
      let size = 2 * channels
      memmove(base, base + count * size, state.count * size)
    }
  }

  private func observe(left: Int, _ state: inout State) {
    state.least = min(state.least, left)
    state.reads += 1
    guard state.reads >= 100 else { return }
    let error = state.least - state.target
    if error > Self.tolerance {
      let surplus = min(error, left)
      discard(surplus, &state)
      state.statistics.droppedFrames += surplus
      state.correction = 0
    } else if abs(error) <= Self.deadBand {
      state.correction = 0
    } else {
      let wish = Double(error) / Self.correctionTime
      state.correction = min(max(wish, -Self.largestCorrection), Self.largestCorrection)
    }
    state.statistics.correction = state.correction
    state.calmSeconds += 1
    if state.calmSeconds >= Self.calm {
      state.calmSeconds = 0
      state.target = max(Self.smallestTarget, state.target - Self.step)
    }
    beginSecond(&state)
  }

  private func beginSecond(_ state: inout State) {
    state.least = .max
    state.reads = 0
  }
}

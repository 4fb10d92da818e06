import Base

/// Measures how far sound and picture of the test pattern are apart: each second has a flash and a blip
/// that belong together.
package final class MediaOffset: Sendable {
  fileprivate struct State {
    var flash: Instant?
    var blip: Instant?
    var offsets: [Double] = []
  }

  private let state = Lock(State())

  package init() {}

  /// Median over the last seconds in ms, positive if the sound comes after the picture; nil before the
  /// first pair.
  package var milliseconds: Double? {
    let offsets = state.withLock { $0.offsets }
    return offsets.isEmpty ? nil : median(offsets)
  }

  /// - Parameter at: when the picture that belongs to the full second was or would have been shown.
  package func noteFlash(at time: Instant) {
    state.withLock {
      $0.flash = time
      $0.pair()
    }
  }

  /// - Parameter at: when the blip's first sample was played.
  package func noteBlip(at time: Instant) {
    state.withLock {
      $0.blip = time
      $0.pair()
    }
  }
}

extension MediaOffset.State {
  fileprivate mutating func pair() {
    guard let flash, let blip else { return }
    let offset = (blip - flash).milliseconds
    guard abs(offset) < 500 else { return }
    offsets.append(offset)
    if offsets.count > 15 { offsets.removeFirst() }
    self.flash = nil
    self.blip = nil
  }
}

import Base
import Codecs

/// What a composer's thread does, from start to stop.
struct CompositionLoop {
  /// How long everything waits for what is late, and for sender reports.
  private static let hold = Duration.milliseconds(800)
  /// Being behind by more, pictures are left out; the sound never is.
  private static let patience = Duration.milliseconds(300)
  private static let samplesPerTick = 48_000 / Composer.frameRate
  private static let ticksPerFragment: Int64 = Int64(Composer.frameRate)

  private let composer: Composer
  private var inputs: [CompositionInput] = []
  private var tick: Int64 = 0
  private var leftOut = 0
  private var mix = [Int32](repeating: 0, count: 2 * samplesPerTick)
  private var sound = [Int16](repeating: 0, count: 2 * samplesPerTick)

  init(_ composer: Composer) { self.composer = composer }

  mutating func run(_ failed: @Sendable (SourceError) -> Void) -> Composer.Result {
    do throws(SourceError) {
      let writer = try MP4Writer(composer.configuration, frameRate: Composer.frameRate)
      try compose(writer)
      try writer.finish()
    } catch {
      failed(error)
      return Composer.Result(duration: time(of: tick) - composer.start, failure: error)
    }
    return Composer.Result(duration: time(of: tick) - composer.start, failure: nil)
  }

  private func time(of tick: Int64) -> Instant {
    composer.start + .nanoseconds(tick * 1_000_000_000 / Int64(Composer.frameRate))
  }

  private mutating func compose(_ writer: MP4Writer) throws(SourceError) {
    while true {
      var scene = composer.scene.withLock { $0 }
      if scene.end == nil, composer.stopping.wait(until: time(of: tick + 1) + Self.hold) {
        scene = composer.scene.withLock { $0 }
      }
      // What is there is worked off without waiting when the end has come.
      if let end = scene.end, time(of: tick + 1) > end { return }
      advance(scene)
      if composer.configuration.hasVideo { try drawPicture(scene, writer) }
      if composer.configuration.hasAudio { try mixSound(writer) }
      tick += 1
      if tick % Self.ticksPerFragment == 0 { try writer.flush() }
    }
  }

  private mutating func advance(_ scene: Composer.Scene) {
    for source in scene.sources where !inputs.contains(where: { $0.source === source }) {
      if let input = try? CompositionInput(source) { inputs.append(input) }
    }
    let (begin, end) = (time(of: tick), time(of: tick + 1))
    for input in inputs {
      input.advance(origin: composer.start, middle: begin + (end - begin) / 2, end: end)
    }
    let over = inputs.filter(\.isOver).map(\.source)
    guard !over.isEmpty else { return }
    inputs.removeAll { $0.isOver }
    composer.scene.withLock { scene in
      scene.sources.removeAll { source in over.contains { $0 === source } }
    }
  }

  private mutating func drawPicture(_ scene: Composer.Scene, _ writer: MP4Writer) throws(SourceError) {
    let isLate = scene.end == nil && MonotonicClock.now() - (time(of: tick + 1) + Self.hold) > Self.patience
    // One in five at least, or nobody would see that it goes on.
    if isLate, leftOut < 4 {
      leftOut += 1
      return
    }
    leftOut = 0
    let (inputs, composer) = (inputs, composer)
    try writer.writePicture(at: tick) { canvas in
      CompositionPainter(canvas: canvas).paint(inputs, scene.layout, composer.configuration.size)
    }
  }

  private mutating func mixSound(_ writer: MP4Writer) throws(SourceError) {
    let inputs = inputs
    let start = tick * Int64(Self.samplesPerTick)
    mix.withUnsafeMutableBufferPointer { mix in
      mix.update(repeating: 0)
      for input in inputs {
        guard input.source.settings.withLock({ $0.hasAudio }) else { continue }
        input.mix(from: start, into: mix)
      }
    }
    for index in mix.indices { sound[index] = Int16(clamping: mix[index]) }
    try writer.writeSound(sound)
  }
}

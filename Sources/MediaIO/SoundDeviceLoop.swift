import Base
import Codecs
import Glibc

/// The thread of one sound device, from `start` to `stop`: between ALSA, at the device's pace, and an elastic
/// buffer. A device that goes away is tried again each second; that it went and came back is told.
final class SoundDeviceLoop: Sendable {
  struct Statistics: Sendable, Equatable {
    /// Times when the device itself ran dry or over.
    var xruns = 0
    /// Between the device's ends and us, in frames of the device.
    var delay = 0
    var rate = AudioFormat.sampleRate
  }

  /// A device on its way to the thread.
  private struct Handover: @unchecked Sendable {
    // Safe to send: whoever opened it keeps no reference.
    var pcm: PCM?
  }

  let buffer: ElasticBuffer
  /// Of the buffer.
  let channels: Int
  private let direction: PCM.Direction
  /// What the user called it; nil: the default.
  private let name: String?
  private let notice: @Sendable (String) -> Void
  private let handover: Lock<Handover>
  private let published = Lock(Statistics())
  private let stopping = Semaphore()
  private let isStopped = Lock(false)
  private let thread = Lock<MediaThread?>(nil)

  private static let retryInterval = Duration.seconds(1)

  /// Opens the device.
  /// - Parameter notice: called on the device's thread.
  init(
    _ name: String?, _ direction: PCM.Direction, notice: @escaping @Sendable (String) -> Void
  ) throws(SourceError) {
    let pcm = try SoundDevices.open(name, direction)
    self.name = name
    self.direction = direction
    self.notice = notice
    channels = direction == .capture ? 1 : 2
    buffer = ElasticBuffer(channels: channels)
    handover = Lock(Handover(pcm: pcm))
  }

  var title: String { name ?? "default \(direction.kind.rawValue)" }

  var statistics: Statistics { published.withLock { $0 } }

  func start() {
    isStopped.withLock { $0 = false }
    thread.withLock { thread in
      thread = MediaThread(name: direction == .capture ? "microphone" : "loudspeaker") { [self] in
        run()
      }
    }
  }

  /// Ends the thread and waits for it, a second at most.
  func stop() {
    let running = thread.withLock { $0.take() }
    isStopped.withLock { $0 = true }
    stopping.post()
    running?.join(until: MonotonicClock.now() + .seconds(1))
  }

  private var hasToStop: Bool { isStopped.withLock { $0 } }

  /// What was opened first. Nobody else keeps it: a device that is held cannot be opened anew.
  private func takeFirst() -> PCM? {
    handover.withLock { handover -> Handover in
      defer { handover.pcm = nil }
      return handover
    }.pcm
  }

  private func run() {
    var wasLost = false
    while !hasToStop {
      if let device = takeFirst() ?? (try? SoundDevices.open(name, direction)) {
        if wasLost { notice("\(title) is back") }
        wasLost = false
        guard let error = move(device) else { break }
        wasLost = true
        notice("\(error.message); it is tried again")
      }
      if !hasToStop { _ = stopping.wait(until: MonotonicClock.now() + Self.retryInterval) }
    }
  }

  /// Nil when asked to stop.
  private func move(_ pcm: PCM) -> SourceError? {
    let converter: SampleConverter
    do {
      converter = try SampleConverter(
        capture: direction == .capture, device: (pcm.rate, pcm.channels), channels: channels)
    } catch {
      return error
    }
    published.withLock { $0.rate = pcm.rate }
    return direction == .capture ? capture(pcm, converter) : play(pcm, converter)
  }

  private func capture(_ pcm: PCM, _ converter: SampleConverter) -> SourceError? {
    var pace = Pace(rate: pcm.rate)
    return withUnsafeTemporaryAllocation(of: Int16.self, capacity: pcm.period * pcm.channels) { period in
      while !hasToStop {
        switch pcm.read(into: period) {
        case .moved(let frames):
          let heard = UnsafeBufferPointer(rebasing: period[..<(frames * pcm.channels)])
          converter.convert(heard) { buffer.write($0) }
          record(pcm, xrun: false)
          pace.moved(frames, stopping)
        case .xrun: record(pcm, xrun: true)
        case .failed(let error): return error
        }
      }
      return nil
    }
  }

  private func play(_ pcm: PCM, _ converter: SampleConverter) -> SourceError? {
    var pace = Pace(rate: pcm.rate)
    let size = AudioFormat.samplesPerChunk * channels
    return withUnsafeTemporaryAllocation(of: Int16.self, capacity: size) { chunk in
      while !hasToStop {
        buffer.read(into: chunk)
        var failure: SourceError?
        converter.convert(UnsafeBufferPointer(chunk)) { samples in
          var left = samples
          while !left.isEmpty, failure == nil, !hasToStop {
            switch pcm.write(left) {
            case .moved(let frames):
              left = UnsafeBufferPointer(rebasing: left[(frames * pcm.channels)...])
              pace.moved(frames, stopping)
            case .xrun: record(pcm, xrun: true)
            case .failed(let error): failure = error
            }
          }
        }
        if let failure { return failure }
        record(pcm, xrun: false)
      }
      return nil
    }
  }

  private func record(_ pcm: PCM, xrun: Bool) {
    let delay = pcm.delay
    published.withLock {
      $0.delay = delay
      if xrun { $0.xruns += 1 }
    }
  }

  /// Keeps a device that never waits (ALSA's `null` and `file`) from taking a whole core.
  private struct Pace {
    let rate: Int
    let start = MonotonicClock.now()
    var frames = 0

    init(rate: Int) { self.rate = rate }

    mutating func moved(_ count: Int, _ stopping: Base.Semaphore) {
      frames += count
      let due = start + .milliseconds(frames * 1000 / rate - 1000)
      if due > MonotonicClock.now() { _ = stopping.wait(until: due) }
    }
  }
}

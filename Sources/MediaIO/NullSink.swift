import Base

/// `null`: nobody listens.
final class NullSink: AudioSink {
  let name = "null"
  func start(at now: Instant) {}
  func write(_ samples: UnsafeBufferPointer<Int16>) {}
  func stop() {}
}

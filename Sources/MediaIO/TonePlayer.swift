import Base
import Codecs

/// Plays a tone through the loudspeaker, to hear whether it works.
package final class TonePlayer: Sendable {
  /// Of the tone.
  package static let hertz = 440.0

  private let stopping = Semaphore()
  private let thread: MediaThread

  /// Begins at once and goes on until `stop`: a second of tone, a second of silence.
  /// - Parameter sink: of a loudspeaker.
  package init(sink: sending any AudioSink) {
    let handover = AudioEngine.Handover(sink: sink)
    thread = MediaThread(name: "test tone") { [stopping] in
      guard let sink = handover.sink else { return }
      Self.run(sink, stopping)
    }
  }

  /// Ends the tone and waits for it, a second at most.
  package func stop() {
    stopping.post()
    thread.join(until: MonotonicClock.now() + .seconds(1))
  }

  private static func run(_ sink: any AudioSink, _ stopping: Semaphore) {
    let tone = ToneSource(hertz: hertz)
    var due = MonotonicClock.now()
    guard (try? sink.start(at: due)) != nil else { return }
    withUnsafeTemporaryAllocation(of: Int16.self, capacity: 2 * AudioFormat.samplesPerChunk) { samples in
      var chunks = 0
      while !stopping.wait(until: due) {
        if chunks % 200 < 100 {
          _ = tone.read(into: samples, channels: 2, at: due)
        } else {
          samples.update(repeating: 0)
        }
        sink.write(UnsafeBufferPointer(samples))
        chunks += 1
        due += .milliseconds(10)
      }
    }
    sink.stop()
  }
}

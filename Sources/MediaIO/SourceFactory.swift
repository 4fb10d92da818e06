import Base
import Codecs

extension VideoSourceSpecification {
  /// Opens it far enough to know that it works. Nil for `none`.
  /// - Parameters:
  ///   - size: of its pictures; others are scaled, with bars.
  ///   - stream: goes into the test pattern's strip.
  ///   - timeline: shared with the sound of the same file, to keep them together.
  package func makeSource(
    size: VideoSize, frameRate: Int, stream: UInt16 = 0, timeline: MediaTimeline = MediaTimeline()
  ) throws(SourceError) -> sending (any VideoSource)? {
    switch self {
    case .test: return TestPatternSource(size: size, frameRate: frameRate, stream: stream)
    case .noise: return NoiseVideoSource(size: size, frameRate: frameRate)
    case .black: return BlackSource(size: size, frameRate: frameRate)
    case .file(let path, let once):
      return try FileVideoSource(
        path: path, once: once, size: size, frameRate: frameRate, timeline: timeline)
    case .absent: return nil
    case .camera: throw .notSupportedYet(device: "camera")
    case .screen: throw .notSupportedYet(device: "screen")
    }
  }
}

extension AudioSourceSpecification {
  /// Opens it far enough to know that it works. Nil for `none`.
  /// - Parameter timeline: shared with the picture of the same file, to keep them together.
  package func makeSource(timeline: MediaTimeline = MediaTimeline()) throws(SourceError)
    -> sending (any AudioSource)?
  {
    switch self {
    case .test: return BlipSource()
    case .tone(let hertz): return ToneSource(hertz: hertz)
    case .noise: return NoiseAudioSource()
    case .silence: return SilenceSource()
    case .file(let path, let once): return try FileAudioSource(path: path, once: once, timeline: timeline)
    case .absent: return nil
    case .microphone: throw .notSupportedYet(device: "mic")
    }
  }
}

extension AudioSinkSpecification {
  /// It is opened when the engine starts. Nil for `null`: nobody listens.
  package func makeSink() throws(SourceError) -> sending (any AudioSink)? {
    switch self {
    case .null: return nil
    case .wav(let path): return WAVFileSink(path: path)
    case .speaker: throw .notSupportedYet(device: "speaker")
    }
  }
}

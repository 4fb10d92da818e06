import Base
import Codecs

extension VideoSourceSpecification {
  /// Opens it far enough to know that it works. Nil for `none`.
  ///
  /// That there is no camera at all is no error: the test pattern takes its place, and that is told.
  /// - Parameters:
  ///   - size: of its pictures; others are scaled, with bars.
  ///   - stream: goes into the test pattern's strip.
  ///   - timeline: shared with the sound of the same file, to keep them together.
  ///   - notice: what is published in place of what, for people.
  package func makeSource(
    size: VideoSize, frameRate: Int, stream: UInt16 = 0, timeline: MediaTimeline = MediaTimeline(),
    notice: (String) -> Void = { _ in }
  ) throws(SourceError) -> sending (any VideoSource)? {
    switch self {
    case .test: return TestPatternSource(size: size, frameRate: frameRate, stream: stream)
    case .noise: return NoiseVideoSource(size: size, frameRate: frameRate)
    case .black: return BlackSource(size: size, frameRate: frameRate)
    case .file(let path, let once):
      return try FileVideoSource(
        path: path, once: once, size: size, frameRate: frameRate, timeline: timeline)
    case .absent: return nil
    case .camera(let name?): return try CameraSource(name, size: size, frameRate: frameRate)
    case .camera(nil), .automatic:
      do throws(SourceError) {
        return try CameraSource(nil, size: size, frameRate: frameRate)
      } catch {
        guard self == .automatic || error.isAbsence else { throw error }
        notice("\(error.isAbsence ? "there is no camera" : error.notice): a test picture is sent")
        return TestPatternSource(size: size, frameRate: frameRate, stream: stream)
      }
    case .screen(let display): return try ScreenSource(display, size: size, frameRate: frameRate)
    }
  }
}

extension VideoSourceSpecification {
  /// Whether what was made stands in for a camera, of which there is none: one may be plugged in yet. Cameras that
  /// others have, or that may not be opened, are theirs.
  package func isStandIn(_ source: any VideoSource) -> Bool {
    isCamera && !(source is CameraSource) && Cameras.areAbsent
  }

  /// Opens the camera that it means; nil if it means none, or if there still is none that can be had.
  package func makeCamera(size: VideoSize, frameRate: Int) -> sending (any VideoSource)? {
    switch self {
    case .camera(let name): try? CameraSource(name, size: size, frameRate: frameRate)
    case .automatic: try? CameraSource(nil, size: size, frameRate: frameRate)
    default: nil
    }
  }
}

extension AudioSourceSpecification {
  /// Opens it far enough to know that it works. Nil for `none`.
  ///
  /// That there is no microphone at all is no error: silence takes its place, and that is told.
  /// - Parameters:
  ///   - timeline: shared with the picture of the same file, to keep them together.
  ///   - notice: what becomes of a device, for people. Any thread; must not block.
  package func makeSource(
    timeline: MediaTimeline = MediaTimeline(), notice: @escaping @Sendable (String) -> Void = { _ in }
  ) throws(SourceError) -> sending (any AudioSource)? {
    switch self {
    case .test: return BlipSource()
    case .tone(let hertz): return ToneSource(hertz: hertz)
    case .noise: return NoiseAudioSource()
    case .silence: return SilenceSource()
    case .file(let path, let once): return try FileAudioSource(path: path, once: once, timeline: timeline)
    case .absent: return nil
    case .microphone(let name?): return try Microphone(name, notice: notice)
    case .microphone(nil), .automatic:
      do throws(SourceError) {
        return try Microphone(nil, notice: notice)
      } catch {
        guard self == .automatic || error.isAbsence else { throw error }
        notice("\(error.isAbsence ? "there is no microphone" : error.notice): silence is sent")
        return SilenceSource()
      }
    }
  }
}

extension AudioSinkSpecification {
  /// Devices are opened, files when the engine starts. Nil for `null`: nobody listens.
  ///
  /// That there is no loudspeaker at all is no error: nothing is heard, and that is told.
  /// - Parameter notice: what becomes of a device, for people. Any thread; must not block.
  package func makeSink(notice: @escaping @Sendable (String) -> Void = { _ in }) throws(SourceError)
    -> sending (any AudioSink)?
  {
    switch self {
    case .null: return nil
    case .wav(let path): return WAVFileSink(path: path)
    case .speaker(let name?): return try Loudspeaker(name, notice: notice)
    case .speaker(nil), .automatic:
      do throws(SourceError) {
        return try Loudspeaker(nil, notice: notice)
      } catch {
        guard self == .automatic || error.isAbsence else { throw error }
        notice("\(error.isAbsence ? "there is no loudspeaker" : error.notice): nothing is heard")
        return nil
      }
    }
  }
}

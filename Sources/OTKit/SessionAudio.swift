import Base
import Codecs
import MediaIO
import RTP

/// A session's sound: one engine for all that is heard and for the one stream that is spoken.
final class SessionAudio: Sendable {
  let engine: AudioEngine
  private let speaker: Speaker

  /// Where encoded sound goes: the publication that has the microphone.
  private final class Speaker: Sendable {
    struct Output: Sendable {
      var send: @Sendable (EncodedAudioFrame) -> Void
    }

    let output = Lock<Output?>(nil)
  }

  /// - Parameters:
  ///   - notice: what becomes of the loudspeaker; any thread.
  ///   - failed: called on the audio thread.
  init(
    sink specification: String, options: Session.AudioOptions,
    notice: @escaping @Sendable (String) -> Void, failed: @escaping @Sendable (SourceError) -> Void
  ) throws(OpenTokError) {
    var configuration = OpusEncoder.Configuration()
    configuration.channels = options.stereo ? 2 : 1
    configuration.bitrate = options.bitrate
    configuration.discontinuousTransmission = options.dtx
    let speaker = Speaker()
    self.speaker = speaker
    do throws(SourceError) {
      let sink = try AudioSinkSpecification(parsing: specification).makeSink(notice: notice)
      engine = AudioEngine(
        source: nil, sink: sink, configuration: configuration,
        processesMicrophone: options.processesMicrophone, failed: failed,
        output: { frame in speaker.output.withLock { $0 }?.send(frame) })
    } catch {
      throw OpenTokError(error)
    }
    engine.start()
  }

  /// Gives the microphone to a publication, or to none.
  func setSpeaker(_ output: (@Sendable (EncodedAudioFrame) -> Void)?) {
    speaker.output.withLock { $0 = output.map { Speaker.Output(send: $0) } }
    if output == nil { engine.setSource(nil) }
  }
}

extension OpenTokError {
  package init(_ error: SourceError) {
    let exitCode: ExitCode =
      switch error {
      case .unknown, .malformed: .usage
      case .fileMissing, .libraryMissing, .notSupportedYet, .noDevice: .inputMissing
      case .deviceBusy: .temporaryFailure
      case .deviceForbidden: .refused
      case .deviceFailed: .internalError
      case .fileUnreadable, .notDecodable, .noVideo, .noAudio: .badInput
      case .cannotWrite: .cannotWrite
      }
    self = .mediaUnavailable(detail: error.message, hint: error.hint, exitCode: exitCode)
  }
}

import Base
import Codecs
import MediaIO
import RTP

/// A session's sound: one engine for all that is heard and for the one stream that is spoken.
final class SessionAudio: Sendable {
  let engine: AudioEngine
  /// What a device of the program's own captures; nil: there is no such device, or it does not capture.
  let deviceSource: (any AudioSource & Sendable)?
  private let device: AudioDeviceControl?
  private let speaker: Speaker

  /// Where encoded sound goes: the publication that has the microphone.
  private final class Speaker: Sendable {
    struct Output: Sendable {
      var send: @Sendable (EncodedAudioFrame) -> Void
    }

    let output = Lock<Output?>(nil)
  }

  /// - Parameters:
  ///   - device: takes part in place of the sink, and of publishers' sources.
  ///   - notice: what becomes of the loudspeaker; any thread.
  ///   - failed: called on the audio thread.
  init(
    sink specification: String, device: (any AudioDevice)? = nil, options: Session.AudioOptions,
    notice: @escaping @Sendable (String) -> Void, failed: @escaping @Sendable (SourceError) -> Void
  ) throws(OpenTokError) {
    var configuration = OpusEncoder.Configuration()
    configuration.channels = options.stereo ? 2 : 1
    configuration.bitrate = options.bitrate
    configuration.discontinuousTransmission = options.dtx
    let speaker = Speaker()
    self.speaker = speaker
    let control = try device.map { device throws(OpenTokError) in
      try AudioDeviceControl(device, notice: notice)
    }
    self.device = control
    deviceSource = control?.bus.source
    do throws(SourceError) {
      var sink: (any AudioSink)? = control?.bus.sink
      if sink == nil { sink = try AudioSinkSpecification(parsing: specification).makeSink(notice: notice) }
      engine = AudioEngine(
        source: nil, sink: sink, configuration: configuration,
        processesMicrophone: options.processesMicrophone, failed: failed,
        output: { frame in speaker.output.withLock { $0 }?.send(frame) })
    } catch {
      control?.detach()
      throw OpenTokError(error)
    }
    do throws(ThreadError) {
      try engine.start()
    } catch {
      control?.detach()
      throw OpenTokError(error)
    }
  }

  /// Announces `stop`, so that another session may wait for the device. Does not wait itself.
  func leave() { device?.leave() }

  /// Ends the audio thread and waits for it, a second at most.
  func stop() {
    engine.stop()
    device?.detach()
  }

  /// Gives the microphone to a publication, or to none.
  func setSpeaker(_ output: (@Sendable (EncodedAudioFrame) -> Void)?) {
    speaker.output.withLock { $0 = output.map { Speaker.Output(send: $0) } }
    if output == nil { engine.setSource(nil) }
  }
}

extension OpenTokError {
  init(_ error: ThreadError) { self = .systemFailure("\(error.message) (\(ThreadError.hint))") }

  package init(_ error: SourceError) {
    let exitCode: ExitCode =
      switch error {
      case .unknown, .malformed: .usage
      case .fileMissing, .libraryMissing, .notSupportedYet, .noDevice: .inputMissing
      case .deviceBusy: .temporaryFailure
      case .deviceForbidden: .refused
      case .deviceFailed, .capturerFailed: .internalError
      case .fileUnreadable, .notDecodable, .noVideo, .noAudio: .badInput
      case .cannotWrite: .cannotWrite
      }
    self = .mediaUnavailable(detail: error.message, hint: error.hint, exitCode: exitCode)
  }
}

import Base
import MediaIO

/// Where an `AudioDevice` leaves what it has captured and finds what it is to play. Both may be called from any
/// thread and never block; 10 ms at a time are a good measure.
public final class AudioBus: Sendable {
  let source: ExternalAudioSource?
  let sink: ExternalAudioSink?

  fileprivate init(source: ExternalAudioSource?, sink: ExternalAudioSink?) {
    self.source = source
    self.sink = sink
  }

  /// Takes captured sound, of any length, in the device's `captureFormat`. What comes faster than real time is
  /// thrown away when a second of it has gathered; where it is missing, silence is sent.
  ///
  /// - Returns: the frames that were taken (a frame is a sample of each channel); 0 while nothing is captured.
  @discardableResult
  public func writeCaptureData(_ samples: Span<Int16>) -> Int {
    samples.withUnsafeBufferPointer { source?.write($0) } ?? 0
  }

  /// Fills `samples` with what is to be heard next, in the device's `renderFormat`: silence where nobody says
  /// anything, or where more is read than real time brings.
  public func readRenderData(_ samples: inout MutableSpan<Int16>) {
    samples.withUnsafeMutableBufferPointer { buffer in
      if let sink { sink.read(into: buffer) } else { buffer.update(repeating: 0) }
    }
  }
}

/// A device that a session has been given, and its bus.
final class AudioDeviceControl: Sendable {
  private struct State: Equatable {
    var isAttached = false
    var captures = false
    var renders = false
  }

  /// The thread must not keep the bus, whose ends keep the thread.
  private final class Attachment: Sendable {
    private struct Reference {
      weak var bus: AudioBus?
    }

    private let reference = Lock(Reference())
    var bus: AudioBus? { reference.withLock { $0.bus } }
    func set(_ bus: AudioBus) { reference.withLock { $0.bus = bus } }
  }

  let bus: AudioBus
  private let thread: ControlThread<State>
  private let use: ExclusiveUse
  private let user: Int

  /// - Parameter notice: what the device cannot do, for people. Any thread.
  init(_ device: any AudioDevice, notice: @escaping @Sendable (String) -> Void) throws(OpenTokError) {
    let attachment = Attachment()
    let use = ExclusiveUse.of(device)
    let user = use.join()
    let isOurs = Lock(false)
    let thread = ControlThread(name: "audio device", initial: State()) { old, new in
      if new.isAttached, !old.isAttached {
        // The session before may still be about to let go of it.
        let isGranted = use.take(user)
        isOurs.withLock { $0 = isGranted }
        if !isGranted { notice("\(device.name): another session has it: silence is sent, nothing is heard") }
      }
      guard isOurs.withLock({ $0 }) else { return }
      func attempt(_ what: String, _ body: () throws -> Void) {
        do { try body() } catch { notice("\(device.name): \(what): \(error)") }
      }
      if old.captures, !new.captures { device.stopCapture() }
      if old.renders, !new.renders { device.stopRendering() }
      if old.isAttached != new.isAttached { device.setAudioBus(new.isAttached ? attachment.bus : nil) }
      if new.renders, !old.renders { attempt("nothing is heard", device.startRendering) }
      if new.captures, !old.captures { attempt("silence is sent", device.startCapture) }
      if !new.isAttached {
        isOurs.withLock { $0 = false }
        use.letGo(user)
      }
    }
    let (capture, render) = (device.captureFormat, device.renderFormat)
    do throws(SourceError) {
      let source =
        device.captureIsAvailable
        ? try ExternalAudioSource(
          name: device.name, rate: try Self.check(capture), channels: capture.channels,
          delay: { device.estimatedCaptureDelay }, switches: { on in thread.want { $0.captures = on } })
        : nil
      let sink =
        device.renderingIsAvailable
        ? try ExternalAudioSink(
          name: device.name, rate: try Self.check(render), channels: render.channels,
          delay: { device.estimatedRenderDelay }, switches: { on in thread.want { $0.renders = on } })
        : nil
      bus = AudioBus(source: source, sink: sink)
    } catch {
      throw OpenTokError(error)
    }
    self.thread = thread
    (self.use, self.user) = (use, user)
    attachment.set(bus)
    thread.want { $0.isAttached = true }
  }

  /// Announces `detach`, for whoever wants the device next. Does not wait.
  func leave() { use.leave(user) }

  /// Lets go of the device.
  func detach() {
    leave()
    thread.want { $0 = State() }
  }

  /// The format's rate.
  private static func check(_ format: AudioDeviceFormat) throws(SourceError) -> Int {
    guard (8_000...192_000).contains(format.sampleRate), (1...2).contains(format.channels) else {
      throw .malformed(
        text: "\(format.sampleRate) Hz, \(format.channels) channels",
        reason: "a sound device has 8000 to 192000 Hz and 1 or 2 channels")
    }
    return format.sampleRate
  }
}

import Base
import Codecs
import MediaIO
import OTKit

/// Recording what is subscribed to.
extension Participant {
  /// How long the end of the stay waits for files to be completed.
  private static let patience = Duration.seconds(10)

  /// For a stream that is about to be subscribed to; nil if nothing is recorded.
  func makeRecorder(_ streamID: String) async -> StreamRecorder? {
    guard let directory = options.recordings,
      let stream = await session.streams.first(where: { $0.id == streamID })
    else { return nil }
    let path: String
    do throws(SourceError) {
      path = try directory.reserve(name: stream.name, at: seconds())
    } catch {
      emit(.warning("the stream is not recorded: \(error.message)"))
      return nil
    }
    let size = stream.videoDimensions.map { VideoSize(width: $0.width, height: $0.height) }
    let configuration = StreamRecorder.Configuration(
      path: path, hasAudio: stream.carriesAudio, hasVideo: stream.videoType != nil, videoSize: size)
    let (events, relay) = AsyncStream.makeStream(of: StreamRecorder.Event.self)
    let recorder: StreamRecorder
    do throws(ThreadError) {
      recorder = try StreamRecorder(configuration) { relay.yield($0) }
    } catch {
      emit(.warning("the stream is not recorded: \(error.message)"))
      return nil
    }
    recorders.append((recorder, streamID))
    Task {
      for await event in events {
        record(event, of: streamID, recorder)
        if case .finished = event { break }
      }
    }
    return recorder
  }

  private func record(_ event: StreamRecorder.Event, of streamID: String, _ recorder: StreamRecorder) {
    switch event {
    case .started(let path, _): emit(.recordingStarted(streamID: streamID, file: path))
    case .failed(let error): emit(.warning("a recording ends here: \(error.message)"))
    case .finished(let summary):
      recorders.removeAll { $0.recorder === recorder }
      if summary.start != nil {
        emit(
          .recordingStopped(
            streamID: streamID, file: summary.path, duration: summary.duration.seconds, size: summary.bytes))
      }
    }
  }

  /// Completes the files. Nothing may be received any more.
  func finishRecordings() async {
    for (recorder, _) in recorders { recorder.mediaEnded() }
    let deadline = MonotonicClock.now() + Self.patience
    while !recorders.isEmpty, MonotonicClock.now() < deadline {
      try? await Task.sleep(for: .milliseconds(10))
    }
    if !recorders.isEmpty { emit(.warning("\(recorders.count) recordings could not be completed in time")) }
  }
}

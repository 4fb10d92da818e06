import Base
import RTP

/// Puts a stream's encoded sound and picture into one order by their time, while stragglers are waited for.
struct RecordingQueue {
  enum Media {
    case audio(ReceivedAudioPacket)
    case video(ReceivedVideoFrame)
  }

  /// What waits at most; what is beyond is handed out early.
  private static let capacity = 4096

  private struct Entry<Item> {
    let item: Item
    /// Known already, since the timeline began anew behind it.
    var time: Double?
  }

  private var timeline = RecordingTimeline()
  /// In order of timestamps.
  private var audio: [Entry<ReceivedAudioPacket>] = []
  /// In decoding order.
  private var video: [Entry<ReceivedVideoFrame>] = []
  private var lastAudioTimestamp: Int64?

  /// Timestamps never get near the ends of their type.
  private static let plausible: ClosedRange<Int64> = -(1 << 60)...1 << 60

  var isEmpty: Bool { audio.isEmpty && video.isEmpty }

  /// Of the first key frame that waits.
  var firstKeyFrame: ReceivedVideoFrame? { video.first { $0.item.isKeyFrame }?.item }

  /// The connection is a new one.
  mutating func restart() {
    restart(.audio)
    restart(.video)
  }

  private mutating func restart(_ track: RecordingTimeline.Track) {
    switch track {
    case .audio:
      for index in audio.indices where audio[index].time == nil {
        audio[index].time = timeline.time(.audio, of: audio[index].item.timestamp)
      }
      lastAudioTimestamp = nil
    case .video:
      for index in video.indices where video[index].time == nil {
        video[index].time = timeline.time(.video, of: video[index].item.timestamp)
      }
    }
    timeline.restart(track)
  }

  mutating func insert(_ packet: ReceivedAudioPacket) {
    guard Self.plausible.contains(packet.timestamp) else { return }
    let arrival = packet.arrival.seconds
    if !packet.isCopy, timeline.isNewBeginning(.audio, packet.timestamp, arrival: arrival) {
      restart(.audio)
    }
    timeline.observe(.audio, packet.timestamp, arrival: arrival, captureTime: packet.captureTime)
    if let last = lastAudioTimestamp, packet.timestamp <= last { return }
    var index = audio.count
    while index > 0, audio[index - 1].time == nil, audio[index - 1].item.timestamp >= packet.timestamp {
      index -= 1
    }
    if index < audio.count, audio[index].item.timestamp == packet.timestamp { return }
    audio.insert(Entry(item: packet), at: index)
  }

  mutating func insert(_ frame: ReceivedVideoFrame) {
    guard Self.plausible.contains(frame.timestamp) else { return }
    if timeline.isNewBeginning(.video, frame.timestamp, arrival: frame.arrival.seconds) { restart(.video) }
    timeline.observe(.video, frame.timestamp, arrival: frame.arrival.seconds, captureTime: frame.captureTime)
    video.append(Entry(item: frame))
  }

  /// The earliest, if it belongs to a time before `limit`.
  ///
  /// - Parameter ahead: how much more of the sound is wanted.
  mutating func next(before limit: Instant, soundAhead ahead: Duration = .zero) -> (
    media: Media, time: Double
  )? {
    let limit = audio.count + video.count > Self.capacity ? Double.infinity : limit.seconds
    let sound = audio.first.map { $0.time ?? timeline.time(.audio, of: $0.item.timestamp) }
    let picture = video.first.map { $0.time ?? timeline.time(.video, of: $0.item.timestamp) }
    if let sound, sound < limit + ahead.seconds, sound <= picture ?? .infinity || picture ?? 0 >= limit {
      let entry = audio.removeFirst()
      if entry.time == nil { lastAudioTimestamp = entry.item.timestamp }
      return (.audio(entry.item), sound)
    }
    guard let picture, picture < limit else { return nil }
    return (.video(video.removeFirst().item), picture)
  }
}

import Base
import CLinux
import Codecs
import Glibc
import RTP
import Synchronization

/// What a publishing and a receiving participant cost in CPU time, against the least that any program can
/// do: one thread that wakes when a picture or a packet is due and calls libvpx or libopus, with the same
/// pictures and sound at the same pace. Runs in real time; nothing else should run in the process.
package enum MediaBenchmark {
  package struct Result: Sendable {
    /// CPU seconds a second, through our pipelines.
    package var pipeline: Double
    /// CPU seconds a second, of the libraries called bare at the same pace.
    package var bare: Double
    /// CPU seconds a second, of the libraries without any pause, which is kinder to caches.
    package var bareAtOnce: Double
    package var framesPerSecond: Double
    package var ratio: Double { pipeline / bare }
  }

  package struct Setting: Sendable {
    package var size = VideoSize(width: 640, height: 480)
    package var frameRate = 30
    package var bitrate = 1_000_000
    package var seconds = 5

    package init() {}
  }

  /// Test pattern → VP8, tone → Opus, through the pipelines a publisher uses.
  package static func publishing(_ setting: Setting = Setting()) throws -> Result {
    let bare = try bareEncoding(setting)
    let source = TestPatternSource(size: setting.size, frameRate: setting.frameRate, stream: 1)
    let counter = Counter()
    let video = VideoPublishPipeline(
      source: source, size: setting.size, frameRate: setting.frameRate, maximumBitrate: setting.bitrate,
      output: { _ in counter.value.add(1, ordering: .relaxed) })
    let audio = AudioEngine(source: ToneSource(hertz: 440), sink: nil, output: { _ in })
    let used = try measure(setting) {
      try video.start()
      try audio.start()
      wait(setting)
    }
    video.stop()
    audio.stop()
    return Result(
      pipeline: used, bare: bare.paced, bareAtOnce: bare.atOnce,
      framesPerSecond: Double(counter.value.load(ordering: .relaxed)) / Double(setting.seconds))
  }

  /// The same stream, received: VP8 → pictures for a renderer, Opus → a mix.
  package static func receiving(_ setting: Setting = Setting()) throws -> Result {
    let stream = try encode(setting)
    let bare = try bareDecoding(setting, stream)
    let video = try VideoSubscribePipeline(renderer: nil, keyFrameNeeded: {})
    let audio = AudioEngine(source: nil, sink: nil, output: { _ in })
    let receiver = audio.addReceiver()
    // This thread plays the network, which is not what is measured.
    var network = 0.0
    let used = try measure(setting) {
      try audio.start()
      var next = 0
      let begin = threadSeconds()
      defer { network = (threadSeconds() - begin) / Double(setting.seconds) }
      pace(setting, frames: stream.video.map(\.captureTime)) { index in
        receiver.push(
          ReceivedAudioPacket(
            bytes: stream.audio[index], sequenceNumber: Int64(index), timestamp: Int64(index) * 960,
            arrival: MonotonicClock.now()))
      } video: { index in
        let (frame, now) = (stream.video[index], MonotonicClock.now())
        next += 1
        video.push(
          ReceivedVideoFrame(
            bytes: frame.bytes, isKeyFrame: frame.isKeyFrame, timestamp: Int64(next) * 3000, arrival: now,
            renderTime: now + .milliseconds(10)))
      }
    }
    let decoded = video.statistics.framesDecoded
    video.stop()
    audio.stop()
    return Result(
      pipeline: used - network, bare: bare.paced, bareAtOnce: bare.atOnce,
      framesPerSecond: Double(decoded) / Double(setting.seconds))
  }

  /// CPU seconds a second of libvpx and libopus alone, called at the pace of a call.
  package static func barePublishing(_ setting: Setting) throws -> Double { try bareEncoding(setting).paced }

  /// The same for the stream that `barePublishing` makes.
  package static func bareReceiving(_ setting: Setting) throws -> Double {
    try bareDecoding(setting, try encode(setting)).paced
  }

  private struct Stream {
    var video: [EncodedVideoFrame]
    var audio: [[UInt8]]
  }

  private final class Counter: Sendable {
    let value = Atomic(0)
  }

  // MARK: The bare libraries

  private static func bareEncoding(_ setting: Setting) throws -> (paced: Double, atOnce: Double) {
    let pictures = draw(setting)
    let sound = tone(setting)
    func run(_ pacing: (_ audio: (Int) throws -> Void, _ video: (Int) throws -> Void) throws -> Void) throws
      -> Double
    {
      let encoder = try videoEncoder(setting)
      var opus = try OpusEncoder()
      return try measure(setting) {
        try pacing(
          { index in _ = try sound[index].withUnsafeBufferPointer { try opus.encode($0) } },
          { index in _ = try encoder.encode(pictures[index]) })
      }
    }
    let atOnce = try run { audio, video in
      for index in pictures.indices { try video(index) }
      for index in sound.indices { try audio(index) }
    }
    let paced = try run { audio, video in
      try pace(setting, frames: pictures.map(\.time), audio: audio, video: video)
    }
    return (paced, atOnce)
  }

  private static func bareDecoding(_ setting: Setting, _ stream: Stream) throws -> (
    paced: Double, atOnce: Double
  ) {
    func run(_ pacing: (_ audio: (Int) throws -> Void, _ video: (Int) throws -> Void) throws -> Void) throws
      -> Double
    {
      let decoder = try BareVP8Decoder()
      var opus = try OpusDecoder(channels: 2)
      var samples = [Int16](repeating: 0, count: 2 * OpusDecoder.maximumSamples)
      return try measure(setting) {
        try pacing(
          { index in
            _ = try stream.audio[index].withUnsafeBufferPointer { packet in
              try samples.withUnsafeMutableBufferPointer { try opus.decode(packet, into: $0) }
            }
          }, { index in decoder.decode(stream.video[index].bytes) })
      }
    }
    let atOnce = try run { audio, video in
      for index in stream.video.indices { try video(index) }
      for index in stream.audio.indices { try audio(index) }
    }
    let paced = try run { audio, video in
      try pace(setting, frames: stream.video.map(\.captureTime), audio: audio, video: video)
    }
    return (paced, atOnce)
  }

  // MARK: Time

  /// CPU seconds that this process spends on `body`, a second of the setting's length.
  private static func measure(_ setting: Setting, _ body: () throws -> Void) rethrows -> Double {
    let before = otchat_cpu_microseconds()
    try body()
    return Double(otchat_cpu_microseconds() - before) / 1e6 / Double(setting.seconds)
  }

  private static func threadSeconds() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
  }

  private static func wait(_ setting: Setting) {
    _ = Semaphore().wait(until: MonotonicClock.now() + .seconds(setting.seconds))
  }

  /// Calls `audio` every 20 ms and `video` at each frame's time, on this thread, for the setting's length.
  private static func pace(
    _ setting: Setting, frames: [Instant], audio: (Int) throws -> Void, video: (Int) throws -> Void
  ) rethrows {
    let start = MonotonicClock.now()
    let sleeper = Semaphore()
    var nextFrame = 0
    for packet in 0..<setting.seconds * 50 {
      let due = start + .milliseconds(20 * packet)
      while nextFrame < frames.count, start + .nanoseconds(frames[nextFrame].nanoseconds) < due {
        _ = sleeper.wait(until: start + .nanoseconds(frames[nextFrame].nanoseconds))
        try video(nextFrame)
        nextFrame += 1
      }
      _ = sleeper.wait(until: due)
      try audio(packet)
    }
  }

  // MARK: Pictures and sound

  private static func videoEncoder(_ setting: Setting) throws -> VP8Encoder {
    try VP8Encoder(.init(size: setting.size, bitrate: setting.bitrate, frameRate: setting.frameRate))
  }

  private static func draw(_ setting: Setting) -> [VideoFrame] {
    let pattern = TestPattern(size: setting.size, stream: 1)
    let wall = WallClock.microseconds()
    return (0..<setting.seconds * setting.frameRate).map { number in
      let time = Int64(number) * 1_000_000 / Int64(setting.frameRate)
      return pattern.draw(
        number: UInt32(number), wallTime: wall + time, time: Instant(nanoseconds: time * 1000))
    }
  }

  /// Packets of 20 ms of a tone.
  private static func tone(_ setting: Setting) -> [[Int16]] {
    let source = ToneSource(hertz: 440)
    return (0..<setting.seconds * 50).map { _ in
      var packet = [Int16](repeating: 0, count: AudioFormat.samplesPerPacket)
      _ = packet.withUnsafeMutableBufferPointer { source.read(into: $0, channels: 1, at: .zero) }
      return packet
    }
  }

  private static func encode(_ setting: Setting) throws -> Stream {
    let encoder = try videoEncoder(setting)
    let video = try draw(setting).compactMap { try encoder.encode($0) }
    var opus = try OpusEncoder()
    let audio = try tone(setting).map { try $0.withUnsafeBufferPointer { try opus.encode($0) } }
    return Stream(video: video, audio: audio)
  }
}

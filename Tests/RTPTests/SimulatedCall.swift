import Base
import TestSupport

@testable import RTP

/// A source of frames with the sizes of a real VP8 encoder: a large key frame, then deltas that share
/// the target bitrate with some variation.
struct SyntheticEncoder {
  var frameRate = 30
  var bitrate: Int
  var maximumBitrate = 2_500_000
  var wantsKeyFrame = true
  private(set) var frameNumber: UInt32 = 0
  private var random: SeededGenerator
  private var debt = 0

  init(bitrate: Int, seed: UInt64) {
    self.bitrate = bitrate
    random = SeededGenerator(seed: seed)
  }

  mutating func next(at now: Instant) -> EncodedVideoFrame {
    let isKey = wantsKeyFrame
    wantsKeyFrame = false
    let mean = max(60, min(bitrate, maximumBitrate) / 8 / frameRate)
    var size = isKey ? mean * 6 : Int(Double(mean) * Double.random(in: 0.7...1.3, using: &random))
    // As rate control does: what a key frame took is missing from those after it.
    if isKey {
      debt += size - mean
    } else {
      let saved = min(debt, size / 3)
      debt -= saved
      size -= saved
    }
    var bytes = [UInt8](repeating: UInt8(truncatingIfNeeded: frameNumber), count: max(16, size))
    bytes.replaceSubrange(
      0..<10,
      with: isKey ? [0x10, 2, 0, 0x9D, 0x01, 0x2A, 0x80, 2, 0xE0, 1] : [0x11, 2, 0, 1, 1, 1, 1, 1, 1, 1])
    withUnsafeBytes(of: frameNumber.bigEndian) { bytes.replaceSubrange(10..<14, with: $0) }
    frameNumber += 1
    return EncodedVideoFrame(
      bytes: bytes, isKeyFrame: isKey, captureTime: now, width: 640, height: 480)
  }

  static func number(of frame: ReceivedVideoFrame) -> UInt32 {
    frame.bytes[10..<14].reduce(0) { $0 << 8 | UInt32($1) }
  }
}

/// A sends sound and pictures to B over a simulated network, in virtual time.
final class SimulatedCall {
  struct ReceivedFrame {
    var number: UInt32
    var captured: Instant
    var handedOut: Instant
    var shown: Instant
    var isKeyFrame: Bool
  }

  let a: RTPSession
  let b: RTPSession
  var aToB: SimulatedLink
  var bToA: SimulatedLink
  var encoder: SyntheticEncoder
  var now = Instant(nanoseconds: 1_000_000_000_000)
  let start: Instant
  let audioOut: StreamID
  let videoOut: StreamID
  let audioIn: StreamID
  let videoIn: StreamID
  private(set) var frames: [ReceivedFrame] = []
  private(set) var audioPackets: [ReceivedAudioPacket] = []
  private(set) var keyFrameRequests: [Instant] = []
  private(set) var targets: [(at: Instant, bitsPerSecond: Int)] = []
  private(set) var minimumAudioDelays: [Duration] = []
  private(set) var packetLoss = 0.0
  private(set) var goodbyes: [StreamID] = []
  /// Mean of what the way to B queued, seen by each packet.
  private(set) var queueing: [(at: Instant, delay: Duration)] = []
  private var captures: [UInt32: Instant] = [:]
  private var nextVideo: Instant
  private var nextAudio: Instant
  private var audioTimestamp: UInt32 = 0
  var onAudio: ((ReceivedAudioPacket) -> Void)?
  /// Plays the sound, 10 ms at a time.
  var listener: SimulatedListener?
  private var nextTick: Instant
  private let frameDuration: Duration
  private let forwardErrorCorrection: Bool
  /// What was heard when, from which moment; pauses and made-up sound count on.
  private(set) var heard: [(at: Instant, captured: Instant)] = []
  private var firstAudio: (timestamp: Int64, captured: Instant)?
  private var audioCaptures: [Instant] = []
  private var minimumAudioDelay = Duration.zero
  /// Called with the size of each packet on its way to B.
  var onPacket: ((SimulatedCall, Int) -> Void)?
  /// Called at the end of every step.
  var onStep: ((SimulatedCall) -> Void)?
  var sendsVideo = true
  var sendsAudio = true

  struct Options {
    var nack = true
    /// The receiver asks for what is lost.
    var asksForPackets = true
    var rtx = true
    var transportCC = true
    var remb = false
    var absoluteSendTime = true
    var reducedSize = true
    var initialBitrate = 800_000
    var knowsSSRC = false
    var mid = true
    /// Sound may travel with copies of earlier sound (RFC 2198), and with Opus' own FEC.
    var redundancy = true
    var forwardErrorCorrection = false
    /// How much faster than ours the sender's sample clock is, in parts per million.
    var audioClockDrift = 0.0
  }

  init(
    _ forward: SimulatedLink.Conditions = .init(), back: SimulatedLink.Conditions? = nil, seed: UInt64 = 1,
    options: Options = Options()
  ) {
    start = now
    nextVideo = now
    nextAudio = now
    nextTick = now + .milliseconds(3)
    frameDuration = .nanoseconds(Int64(20_000_000 / (1 + options.audioClockDrift / 1e6)))
    forwardErrorCorrection = options.forwardErrorCorrection
    aToB = SimulatedLink(forward, seed: seed)
    var reverse = back ?? SimulatedLink.Conditions()
    if back == nil { reverse.delay = forward.delay }
    bToA = SimulatedLink(reverse, seed: seed &+ 1000)
    encoder = SyntheticEncoder(bitrate: options.initialBitrate, seed: seed)
    var configuration = RTPSession.Configuration(
      cname: "a", randomSeed: seed, wallClockAtZero: 1_700_000_000_000_000)
    configuration.reducedSizeRTCP = options.reducedSize
    configuration.initialBitrate = options.initialBitrate
    a = RTPSession(configuration: configuration)
    configuration.cname = "b"
    configuration.randomSeed = seed &+ 77
    // B's clock is wrong by far: nothing may depend on it.
    configuration.wallClockAtZero = 1_600_000_000_000_000
    b = RTPSession(configuration: configuration)

    var extensions = HeaderExtensionMap()
    extensions.mid = options.mid ? 4 : nil
    extensions.transportSequenceNumber = options.transportCC ? 3 : nil
    extensions.absoluteSendTime = options.absoluteSendTime ? 2 : nil
    var audioExtensions = extensions
    audioExtensions.audioLevel = 1
    var audio = SendStreamConfiguration(kind: .audio, ssrc: 0x1111, payloadType: 111)
    audio.mid = options.mid ? "0" : nil
    audio.extensions = audioExtensions
    audio.transportCC = options.transportCC
    audio.redundantPayloadType = options.redundancy ? 63 : nil
    var video = SendStreamConfiguration(kind: .video, ssrc: 0x2222, payloadType: 96)
    video.mid = options.mid ? "1" : nil
    video.extensions = extensions
    video.nack = options.nack
    video.rtx = options.rtx ? .init(ssrc: 0x3333, payloadType: 97) : nil
    video.transportCC = options.transportCC
    video.remb = options.remb
    audioOut = a.addSendStream(audio)
    videoOut = a.addSendStream(video)

    var audioIn = ReceiveStreamConfiguration(kind: .audio, payloadTypes: [111])
    audioIn.mid = audio.mid
    audioIn.extensions = audioExtensions
    audioIn.transportCC = options.transportCC
    audioIn.redundantPayloadType = audio.redundantPayloadType
    var videoIn = ReceiveStreamConfiguration(kind: .video, payloadTypes: [96])
    videoIn.mid = video.mid
    videoIn.extensions = extensions
    videoIn.rtxPayloadTypes = options.rtx ? [97: 96] : [:]
    videoIn.nack = options.nack && options.asksForPackets
    videoIn.pli = true
    videoIn.remb = options.remb
    videoIn.transportCC = options.transportCC
    if options.knowsSSRC {
      audioIn.ssrc = 0x1111
      videoIn.ssrc = 0x2222
      videoIn.rtxSSRC = options.rtx ? 0x3333 : nil
    }
    self.audioIn = b.addReceiveStream(audioIn)
    self.videoIn = b.addReceiveStream(videoIn)
  }

  var elapsed: Duration { now - start }

  func run(for duration: Duration) {
    let end = now + duration
    while now < end {
      var next = min(end, sendsVideo ? nextVideo : end)
      if sendsAudio { next = min(next, nextAudio) }
      if listener != nil { next = min(next, nextTick) }
      for instant in [a.deadline, b.deadline, aToB.nextArrival, bToA.nextArrival] {
        if let instant { next = min(next, instant) }
      }
      // Never back; and timers are not perfect: at least 100 µs pass.
      now = max(next, now + .microseconds(100))
      step()
    }
  }

  /// After `sendsVideo` was off.
  func resumeVideo() { nextVideo = now }

  /// How often something was due.
  private(set) var steps = 0

  private func step() {
    steps += 1
    if sendsVideo, now >= nextVideo {
      let frame = encoder.next(at: now)
      captures[encoder.frameNumber - 1] = now
      a.send(frame, on: videoOut, at: now)
      nextVideo += .seconds(1) / encoder.frameRate
    }
    if sendsAudio, now >= nextAudio {
      var bytes = [UInt8](repeating: 0, count: 80)
      bytes[0] = 0x78
      bytes[1] = forwardErrorCorrection ? 0x40 : 0
      withUnsafeBytes(of: UInt32(audioCaptures.count)) { bytes.replaceSubrange(2..<6, with: $0) }
      audioCaptures.append(now)
      a.send(
        EncodedAudioFrame(bytes: bytes, timestamp: audioTimestamp, captureTime: now, level: 30),
        on: audioOut, at: now)
      audioTimestamp &+= 960
      nextAudio += frameDuration
    }
    while let packet = aToB.receive(at: now) {
      packet.withUnsafeBytes { b.receive($0, at: now) }
      drainB()
    }
    while let packet = bToA.receive(at: now) {
      packet.withUnsafeBytes { a.receive($0, at: now) }
    }
    a.advance(to: now)
    b.advance(to: now)
    a.transmit(at: now) { packet, count, _ in
      aToB.send(Array(packet[0..<count]), at: now)
      onPacket?(self, count)
      queueing.append((now, aToB.queueingDelay))
    }
    b.transmit(at: now) { packet, count, _ in bToA.send(Array(packet[0..<count]), at: now) }
    drainA()
    drainB()
    if listener != nil, now >= nextTick { listen() }
    onStep?(self)
  }

  private func listen() {
    nextTick += .milliseconds(10)
    listener?.buffer.minimumDelay = minimumAudioDelay
    guard let position = listener?.tick(at: now) else { return }
    b.updateAudioPlayout(audioIn, position)
    guard let firstAudio else { return }
    let ticks = Double(position.timestamp - firstAudio.timestamp) / 960 * frameDuration.seconds
    heard.append((now, firstAudio.captured + .seconds(ticks)))
  }

  private func drainA() {
    while let event = a.nextEvent() {
      switch event {
      case .keyFrameRequested:
        keyFrameRequests.append(now)
        encoder.wantsKeyFrame = true
      case .targetBitrate(let rate):
        encoder.bitrate = rate
        targets.append((now, rate))
      case .packetLoss(let share): packetLoss = share
      default: break
      }
    }
  }

  private func drainB() {
    while let event = b.nextEvent() {
      switch event {
      case .videoFrame(_, let frame):
        let number = SyntheticEncoder.number(of: frame)
        frames.append(
          ReceivedFrame(
            number: number, captured: captures[number] ?? .zero, handedOut: now, shown: frame.renderTime,
            isKeyFrame: frame.isKeyFrame))
      case .audioPacket(_, let packet):
        audioPackets.append(packet)
        if firstAudio == nil {
          let index = packet.bytes.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: 2, as: UInt32.self) }
          firstAudio = (packet.timestamp, audioCaptures[Int(index)])
        }
        listener?.buffer.insert(packet)
        onAudio?(packet)
      case .audioMinimumDelay(_, let delay):
        minimumAudioDelays.append(delay)
        minimumAudioDelay = delay
      case .bye(let id): goodbyes.append(id)
      default: break
      }
    }
  }

  // MARK: What the viewer saw

  /// The longest time without a new picture, from `after` on.
  func longestFreeze(after: Duration = .zero) -> Duration {
    let times = frames.map(\.shown).filter { $0 - start >= after }
    guard let last = times.last else { return .seconds(1000) }
    return zip(times, times.dropFirst()).map { $1 - $0 }.max().map { max($0, now - last) } ?? now - last
  }

  /// Median of the time from capture to showing.
  func medianLatency(after: Duration = .zero) -> Duration {
    let delays = frames.filter { $0.captured - start >= after }.map { $0.shown - $0.captured }.sorted()
    return delays.isEmpty ? .seconds(1000) : delays[delays.count / 2]
  }

  func meanTarget(after: Duration) -> Double {
    let late = targets.filter { $0.at - start >= after }
    guard !late.isEmpty else { return Double(targets.last?.bitsPerSecond ?? 0) }
    return late.map { Double($0.bitsPerSecond) }.reduce(0, +) / Double(late.count)
  }

  /// Mean time that packets waited for the rate limit.
  func meanQueueing(after: Duration) -> Duration {
    let late = queueing.filter { $0.at - start >= after }
    return late.isEmpty ? .zero : .seconds(late.map(\.delay.seconds).reduce(0, +) / Double(late.count))
  }
}

extension SimulatedCall {
  /// How much later the sound of a moment was heard than its picture was seen, in seconds, for each picture
  /// from `after` on; negative: earlier.
  func soundLags(after: Duration) -> [Double] {
    var index = 0
    return frames.compactMap { frame in
      guard frame.shown - start >= after else { return nil }
      while index + 1 < heard.count, heard[index + 1].at <= frame.shown { index += 1 }
      guard index < heard.count, frame.shown - heard[index].at < .milliseconds(20) else { return nil }
      return (frame.captured - heard[index].captured - (frame.shown - heard[index].at)).seconds
    }
  }
}

import Base
import Codecs

/// What the test pattern tells a subscriber about its stream.
package struct TestPatternStatistics: Equatable, Sendable {
  package var stream: UInt16
  /// Median over the last seconds, in ms: from drawing at the sender to showing here. Two machines' clocks
  /// have to agree.
  package var endToEndLatency: Double
  package var framesRead = 0
  /// Numbers that were skipped, between the first and the last picture read.
  package var framesMissing = 0
  package var framesRepeated = 0
  /// Pictures whose strip was too damaged.
  package var framesUnreadable = 0
  package var lastFrameNumber: UInt32
  /// Of one picture a second or so.
  package var quality: PatternQuality?
}

/// Follows a stream of test patterns, picture by picture.
package struct TestPatternReader {
  package private(set) var statistics: TestPatternStatistics?

  private static let window = 120
  /// It takes longer than all the rest: one picture in so many.
  private static let qualityInterval = 30
  private static let firstQuality = 5
  private var latencies: [Double] = []
  private var position = 0
  private var unreadableInARow = 0
  private var flashed = false
  private var original: TestPattern?

  package init() {}

  /// What a picture says.
  package struct Reading {
    fileprivate var strip: TestPatternStrip
    fileprivate var isFlashing: Bool
  }

  /// Reads a picture that has been decoded; nil if it says nothing.
  package mutating func read(_ picture: some I420Picture) -> Reading? {
    guard let strip = look(at: picture) else { return nil }
    follow(strip)
    if let known = statistics, known.framesRead % Self.qualityInterval == Self.firstQuality {
      statistics?.quality = PatternQuality(of: picture, strip, redrawnBy: &original)
    }
    return Reading(strip: strip, isFlashing: TestPattern.isFlashing(picture))
  }

  /// The picture has been shown, not only decoded.
  /// - Parameter offset: told of the first picture of each flash.
  package mutating func shown(_ reading: Reading?, at time: Instant, offset: MediaOffset?) {
    guard let reading else { return }
    let sendTime = reading.strip.sendTime
    let wall = WallClock.microseconds() - (MonotonicClock.now() - time).nanoseconds / 1000
    note(latency: Double(wall - sendTime) / 1000)
    if reading.isFlashing && !flashed {
      offset?.noteFlash(at: time - .microseconds(sendTime % 1_000_000))
    }
    flashed = reading.isFlashing
    if let known = statistics, known.framesRead < 10 || known.framesRead % 10 == 0 {
      statistics?.endToEndLatency = median(latencies)
    }
  }

  /// Looks at every picture of a test pattern, and once a second or so at other streams.
  private mutating func look(at frame: some I420Picture) -> TestPatternStrip? {
    if statistics == nil && unreadableInARow >= 30 && unreadableInARow % 30 != 0 {
      unreadableInARow += 1
      return nil
    }
    guard let strip = TestPatternStrip(reading: frame) else {
      unreadableInARow += 1
      statistics?.framesUnreadable += 1
      // The other side changed its source.
      if unreadableInARow >= 90 { statistics = nil }
      return nil
    }
    return strip
  }

  private mutating func follow(_ strip: TestPatternStrip) {
    defer { unreadableInARow = 0 }
    guard var known = statistics, known.stream == strip.stream else {
      latencies = []
      position = 0
      statistics = TestPatternStatistics(
        stream: strip.stream, endToEndLatency: 0, framesRead: 1, lastFrameNumber: strip.frameNumber)
      return
    }
    known.framesRead += 1
    let step = Int32(bitPattern: strip.frameNumber &- known.lastFrameNumber)
    if step <= 0 {
      known.framesRepeated += 1
    } else {
      known.framesMissing += max(0, Int(step) - 1 - unreadableInARow)
      known.lastFrameNumber = strip.frameNumber
    }
    statistics = known
  }

  private mutating func note(latency: Double) {
    if latencies.count < Self.window {
      latencies.append(latency)
    } else {
      latencies[position] = latency
      position = (position + 1) % Self.window
    }
  }
}

func median(_ values: [Double]) -> Double {
  values.isEmpty ? 0 : values.sorted()[values.count / 2]
}

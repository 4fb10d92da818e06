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
}

/// Follows a stream of test patterns, picture by picture.
package struct TestPatternReader {
  package private(set) var statistics: TestPatternStatistics?

  private static let window = 120
  private var latencies: [Double] = []
  private var position = 0
  private var unreadableInARow = 0
  private var flashed = false

  package init() {}

  /// A picture that was decoded, but not shown: counted, not timed.
  package mutating func pass(_ frame: VideoFrame) {
    if let strip = look(at: frame) { follow(strip) }
  }

  /// A picture that was shown.
  /// - Parameter offset: told of the first picture of each flash.
  package mutating func read(_ frame: VideoFrame, shownAt: Instant, offset: MediaOffset?)
    -> TestPatternStatistics?
  {
    guard let strip = look(at: frame) else { return statistics }
    let wall = WallClock.microseconds() - (MonotonicClock.now() - shownAt).nanoseconds / 1000
    follow(strip)
    note(latency: Double(wall - strip.sendTime) / 1000)
    let flash = TestPattern.isFlashing(frame)
    if flash && !flashed {
      offset?.noteFlash(at: shownAt - .microseconds(strip.sendTime % 1_000_000))
    }
    flashed = flash
    if let known = statistics, known.framesRead < 10 || known.framesRead % 10 == 0 {
      statistics?.endToEndLatency = median(latencies)
    }
    return statistics
  }

  /// Looks at every picture of a test pattern, and once a second or so at other streams.
  private mutating func look(at frame: VideoFrame) -> TestPatternStrip? {
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

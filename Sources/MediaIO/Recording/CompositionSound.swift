import Base
import Codecs
import RTP

/// One stream's sound, decoded and laid at its place in time. Confined to one thread.
struct CompositionSound: ~Copyable {
  /// Samples that a packet may be off without being moved: rounding, and the jumps of sender reports.
  private static let tolerance: Int64 = 960
  /// Longer gaps are silence.
  private static let maximumConcealment: Int64 = 5760
  /// What lies further ahead or behind is a new beginning, or of no use.
  private static let maximumAhead: Int64 = 48_000 * 10

  private var decoder: OpusDecoder
  private let room = UnsafeMutableBufferPointer<Int16>.allocate(capacity: 2 * OpusDecoder.maximumSamples)
  /// Interleaved stereo from `position` on.
  private var samples: [Int16] = []
  private var position: Int64 = 0
  private var lastSequenceNumber: Int64?
  private var hasStarted = false

  init() throws(CodecError) { decoder = try OpusDecoder(channels: 2) }

  deinit { room.deallocate() }

  /// Whether there is nothing left to be heard.
  var isEmpty: Bool { samples.isEmpty }

  private var end: Int64 { position + Int64(samples.count / 2) }

  /// - Parameter start: where its first sample belongs, in samples since the beginning.
  mutating func add(_ packet: ReceivedAudioPacket, at start: Int64) {
    let gap = start - end
    let isNext = lastSequenceNumber.map { $0 + 1 == packet.sequenceNumber } ?? true
    lastSequenceNumber = packet.sequenceNumber
    if !hasStarted || gap > Self.maximumAhead {
      hasStarted = true
      samples.removeAll()
      position = max(position, start)
    } else if gap > Self.tolerance {
      // A sender that had nothing to say is silent, and not made up for.
      fill(gap, isLoss: !isNext && gap <= Self.maximumConcealment, packet)
    }
    let count = try? packet.bytes.withUnsafeBufferPointer { bytes throws(CodecError) in
      try decoder.decode(bytes, into: room)
    }
    guard let count, gap > -Self.maximumAhead else { return }
    // What would come twice is left out.
    let overlap = gap < -Self.tolerance ? Int(min(-gap, Int64(count))) : 0
    samples.append(contentsOf: room[2 * overlap..<2 * count])
  }

  private mutating func fill(_ gap: Int64, isLoss: Bool, _ next: ReceivedAudioPacket) {
    var left = Int(gap)
    while isLoss, left >= 120 {
      let piece = min(left - left % 120, 960)
      let count: Int?
      if left == piece, OpusPacket.hasFEC(next.bytes) {
        count = try? next.bytes.withUnsafeBufferPointer { bytes throws(CodecError) in
          try decoder.recover(samples: piece, from: bytes, into: room)
        }
      } else {
        count = try? decoder.conceal(samples: piece, into: room)
      }
      guard let count, count > 0 else { break }
      samples.append(contentsOf: room[0..<2 * count])
      left -= count
    }
    if left > 0 { samples.append(contentsOf: repeatElement(0, count: 2 * left)) }
  }

  /// Adds what belongs to the time from `start` on to `mix` (interleaved stereo), and forgets it.
  mutating func take(from start: Int64, into mix: UnsafeMutableBufferPointer<Int32>) {
    let count = Int64(mix.count / 2)
    let first = max(start, position)
    let last = min(start + count, end)
    if first < last {
      for sample in Int(2 * (first - position))..<Int(2 * (last - position)) {
        mix[sample + Int(2 * (position - start))] += Int32(samples[sample])
      }
    }
    let passed = min(max(0, start + count - position), Int64(samples.count / 2))
    samples.removeFirst(Int(2 * passed))
    position = max(position + passed, start + count)
  }
}

import Base
import RTP
import Testing

@testable import MediaIO

@Suite struct RecordingTimelineTests {
  /// What a queue hands out: seconds since the first arrival.
  private func drain(_ queue: inout RecordingQueue) -> [(isAudio: Bool, number: Int64, time: Double)] {
    var output: [(Bool, Int64, Double)] = []
    while let (media, time) = queue.next(before: Instant(nanoseconds: .max)) {
      switch media {
      case .audio(let packet): output.append((true, packet.timestamp, time))
      case .video(let frame): output.append((false, frame.timestamp, time))
      }
    }
    return output
  }

  private func audio(
    _ number: Int, base: Int64 = 0, arrival: Double, capture: Double? = nil, isCopy: Bool = false
  ) -> ReceivedAudioPacket {
    ReceivedAudioPacket(
      bytes: [0xF8, 0xFF, 0xFE], sequenceNumber: Int64(number), timestamp: base + Int64(number) * 960,
      arrival: Instant(nanoseconds: Int64(arrival * 1e9)), isCopy: isCopy, captureTime: capture)
  }

  private func video(
    _ number: Int, base: Int64 = 0, arrival: Double, capture: Double? = nil
  ) -> ReceivedVideoFrame {
    var frame = ReceivedVideoFrame(
      bytes: [0], isKeyFrame: number == 0, timestamp: base + Int64(number) * 3000,
      arrival: Instant(nanoseconds: Int64(arrival * 1e9)), renderTime: .zero)
    frame.captureTime = capture
    return frame
  }

  /// The picture takes 150 ms longer than the sound: the reports tell what belongs together.
  @Test func senderReportsBringPictureAndSoundTogether() throws {
    var queue = RecordingQueue()
    for number in 0..<50 {
      let captured = Double(number) * 0.02
      // The first report comes after some packets.
      queue.insert(
        audio(number, base: 777, arrival: 100.05 + captured, capture: number > 10 ? 5000 + captured : nil))
    }
    for number in 0..<30 {
      let captured = Double(number) / 30
      queue.insert(
        video(number, base: 99_999, arrival: 100.2 + captured, capture: number > 5 ? 5000 + captured : nil))
    }
    let output = drain(&queue)
    #expect(output.count == 80)
    let sound = output.filter(\.isAudio).map(\.time)
    let picture = output.filter { !$0.isAudio }.map(\.time)
    for (index, time) in sound.enumerated() { #expect(abs(time - (100.05 + Double(index) * 0.02)) < 1e-6) }
    for (index, time) in picture.enumerated() { #expect(abs(time - (100.05 + Double(index) / 30)) < 1e-6) }
    #expect(zip(output, output.dropFirst()).allSatisfy { $0.time <= $1.time })
  }

  /// The first frame, a large one, came late, and some sound did.
  @Test func withoutReportsTheFastestDecide() {
    var queue = RecordingQueue()
    for number in 0..<40 {
      queue.insert(audio(number, arrival: 10 + Double(number) * 0.02 + (number % 7 == 0 ? 0.08 : 0)))
    }
    for number in 0..<25 {
      queue.insert(video(number, arrival: 10.01 + Double(number) / 30 + (number == 0 ? 0.12 : 0)))
    }
    let output = drain(&queue)
    let firstSound = output.first { $0.isAudio }?.time ?? 0
    let firstPicture = output.first { !$0.isAudio }?.time ?? 0
    #expect(abs(firstSound - 10) < 1e-6)
    #expect(abs(firstPicture - 10.01) < 1e-6)
  }

  @Test func lateSoundFindsItsPlaceAndCopiesAreTakenOnce() {
    var queue = RecordingQueue()
    for number in [0, 1, 3, 4, 2, 6, 7] { queue.insert(audio(number, arrival: 1 + Double(number) * 0.02)) }
    for number in [4, 5, 5] { queue.insert(audio(number, arrival: 1.16, isCopy: true)) }
    #expect(drain(&queue).map { $0.number / 960 } == [0, 1, 2, 3, 4, 5, 6, 7])
    // What comes after its time has passed is too late.
    queue.insert(audio(3, arrival: 1.2))
    #expect(queue.isEmpty)
  }

  @Test func gapsStayGaps() {
    var queue = RecordingQueue()
    for number in [0, 1, 2] { queue.insert(audio(number, arrival: 1 + Double(number) * 0.02)) }
    for number in [200, 201] { queue.insert(audio(number, arrival: 1 + Double(number) * 0.02)) }
    let times = drain(&queue).map(\.time)
    #expect(times.count == 5)
    #expect(abs(times[3] - 5) < 1e-6 && abs(times[4] - 5.02) < 1e-6, "\(times)")
  }

  @Test func aNewConnectionGoesOnAtItsTime() {
    var queue = RecordingQueue()
    for number in 0..<3 {
      queue.insert(audio(number, base: 5_000_000, arrival: 1 + Double(number) * 0.02, capture: 50))
      queue.insert(video(number, base: 7_000_000, arrival: 1 + Double(number) / 30, capture: 50))
    }
    queue.restart()
    // Random beginnings, as RTP wants them; one happens to be near the former.
    for number in 0..<3 {
      queue.insert(audio(number, base: 5_010_000, arrival: 4 + Double(number) * 0.02))
      queue.insert(video(number, base: 12, arrival: 4 + Double(number) / 30))
    }
    let output = drain(&queue)
    #expect(output.count == 12)
    #expect(output.prefix(6).allSatisfy { $0.time < 1.2 })
    #expect(output.suffix(6).allSatisfy { $0.time > 3.9 && $0.time < 4.2 }, "\(output)")
  }

  /// Reports that make no sense move nothing.
  @Test func absurdReportsAndTimestampsAreBorne() {
    var queue = RecordingQueue()
    for number in 0..<20 {
      queue.insert(audio(number, arrival: 1 + Double(number) * 0.02, capture: 1e9))
      queue.insert(video(number, arrival: 1 + Double(number) / 30, capture: -1e12))
    }
    queue.insert(audio(3, base: .max / 2, arrival: 1.5))
    queue.insert(video(3, base: .min / 2, arrival: 1.5))
    queue.insert(audio(1_000_000_000, arrival: 1.5))
    let output = drain(&queue)
    #expect(output.count == 41)
    #expect(output.allSatisfy { $0.time > 0.9 && $0.time < 2 }, "\(output)")
  }

  /// The sender's clock is a thousandth too slow, for a quarter of an hour.
  @Test func driftIsMended() {
    var queue = RecordingQueue()
    var worst = 0.0
    for number in 0..<45_000 {
      let arrival = 1 + Double(number) * 0.02 * 1.001
      queue.insert(audio(number, arrival: arrival))
      while let (media, time) = queue.next(before: Instant(nanoseconds: Int64((arrival - 0.7) * 1e9))) {
        if case .audio(let packet) = media { worst = max(worst, abs(packet.arrival.seconds - time)) }
      }
    }
    #expect(worst > 0.1 && worst < 0.6, "\(worst)")
  }
}

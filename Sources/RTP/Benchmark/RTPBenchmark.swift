import Base
import Glibc

/// Measures what a packet costs in `RTPSession`, without SRTP and sockets.
package enum RTPBenchmark {
  package struct Result: Sendable {
    package var packets: Int
    /// From an encoded frame to the packets in the transmit buffer.
    package var sendNanoseconds: Double
    /// From a packet to its part in a frame that is handed out.
    package var receiveNanoseconds: Double
  }

  /// Sends frames of 6,000 octets at 30 a second of virtual time from one session to another.
  ///
  /// - Returns: means a packet, of media packets and the RTCP that belongs to them.
  package static func run(frames: Int) -> Result {
    let sender = RTPSession(configuration: configuration("sender"))
    let receiver = RTPSession(configuration: configuration("receiver"))
    var extensions = HeaderExtensionMap()
    extensions.mid = 4
    extensions.absoluteSendTime = 2
    extensions.transportSequenceNumber = 3
    var outgoing = SendStreamConfiguration(kind: .video, ssrc: 1, payloadType: 96)
    outgoing.mid = "0"
    outgoing.extensions = extensions
    outgoing.nack = true
    outgoing.rtx = .init(ssrc: 2, payloadType: 97)
    outgoing.transportCC = true
    let stream = sender.addSendStream(outgoing)
    var incoming = ReceiveStreamConfiguration(kind: .video, payloadTypes: [96])
    incoming.mid = "0"
    incoming.extensions = extensions
    incoming.rtxPayloadTypes = [97: 96]
    incoming.nack = true
    incoming.pli = true
    incoming.transportCC = true
    _ = receiver.addReceiveStream(incoming)

    var run = Run(sender: sender, receiver: receiver, stream: stream)
    for _ in stride(from: 0, to: frames, by: Run.framesInTurn) { run.turn() }
    let count = Double(max(1, run.packets))
    return Result(
      packets: run.packets, sendNanoseconds: Double(run.sending) / count,
      receiveNanoseconds: Double(run.receiving) / count)
  }

  /// Takes turns: some frames are sent, then all their packets received, then the feedback.
  private struct Run {
    static let framesInTurn = 10

    let sender: RTPSession
    let receiver: RTPSession
    let stream: StreamID
    var packets = 0
    var sending: Int64 = 0
    var receiving: Int64 = 0
    private var now = Instant(nanoseconds: 1_000_000_000)
    private var bytes = [UInt8](repeating: 7, count: 6000)
    private var isFirst = true
    private var wire: [UInt8] = []
    private var sent: [(at: Instant, count: Int)] = []
    private var feedback: [[UInt8]] = []

    init(sender: RTPSession, receiver: RTPSession, stream: StreamID) {
      (self.sender, self.receiver, self.stream) = (sender, receiver, stream)
      bytes.replaceSubrange(0..<10, with: [0x10, 0, 0, 0x9D, 1, 0x2A, 0x80, 2, 0xE0, 1])
    }

    mutating func turn() {
      wire.removeAll(keepingCapacity: true)
      sent.removeAll(keepingCapacity: true)
      let begin = processorTime()
      for _ in 0..<Self.framesInTurn { send() }
      let middle = processorTime()
      receive()
      receiving += processorTime() - middle
      sending += middle - begin
      packets += sent.count
      for packet in feedback { packet.withUnsafeBytes { sender.receive($0, at: now) } }
      feedback.removeAll()
    }

    private mutating func send() {
      bytes[0] = isFirst ? 0x10 : 0x11
      sender.send(
        EncodedVideoFrame(bytes: bytes, isKeyFrame: isFirst, captureTime: now, width: 640, height: 480),
        on: stream, at: now)
      isFirst = false
      let next = now + .microseconds(33_333)
      while now < next {
        sender.advance(to: now)
        sender.transmit(at: now) { packet, count, _ in
          wire.append(contentsOf: packet[0..<count])
          sent.append((now, count))
        }
        while sender.nextEvent() != nil {}
        now = min(next, max(sender.deadline ?? next, now + .microseconds(10)))
      }
    }

    private mutating func receive() {
      wire.withUnsafeBytes { wire in
        var offset = 0
        for (time, count) in sent {
          receiver.receive(UnsafeRawBufferPointer(rebasing: wire[offset..<offset + count]), at: time)
          offset += count
          receiver.advance(to: time)
          while receiver.nextEvent() != nil {}
          receiver.transmit(at: time) { packet, count, _ in feedback.append(Array(packet[0..<count])) }
          _ = receiver.deadline
        }
      }
    }
  }

  /// Nanoseconds that this thread has run: other processes do not count.
  private static func processorTime() -> Int64 {
    var time = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
  }

  private static func configuration(_ name: String) -> RTPSession.Configuration {
    var configuration = RTPSession.Configuration(
      cname: name, randomSeed: 1, wallClockAtZero: 1_700_000_000_000_000)
    configuration.reducedSizeRTCP = true
    return configuration
  }
}

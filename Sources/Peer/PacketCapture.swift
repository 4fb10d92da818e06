import Base
import Glibc

/// A file of decrypted packets, for Wireshark. A thread of its own writes it; when that cannot keep up, packets
/// are left out and counted.
package final class PacketCapture: Sendable {
  package struct Result: Sendable, Equatable {
    /// In the file.
    package var packets = 0
    /// Not in it: the disk, or whoever reads, was too slow.
    package var dropped = 0
    /// Why the file ends early.
    package var errno: Int32?
  }

  private static let capacity = 4096

  /// Shared with the writing thread.
  private final class Progress: Sendable {
    let result = Lock(Result())
  }

  private let descriptor: Int32
  private let mailbox: Mailbox<CapturedPacket>
  private let thread: Lock<MediaThread?>
  private let progress = Progress()
  private let wallClockAtZero: Int64

  /// - Parameters:
  ///   - descriptor: closed by `close`, unless it is standard output.
  ///   - capacity: how many packets may wait.
  package init(descriptor: Int32, capacity: Int = PacketCapture.capacity) {
    self.descriptor = descriptor
    let mailbox = Mailbox<CapturedPacket>(capacity: capacity, overflow: .dropNewest)
    self.mailbox = mailbox
    wallClockAtZero = WallClock.microseconds() - MonotonicClock.now().nanoseconds / 1000
    thread = Lock(nil)
    let writer = MediaThread(name: "capture") { [progress] in Self.run(descriptor, mailbox, progress) }
    thread.withLock { $0 = writer }
  }

  private static func run(
    _ descriptor: Int32, _ mailbox: Mailbox<CapturedPacket>, _ progress: Progress
  ) {
    var bytes = CaptureBlock.header
    var written = 0
    while true {
      // Nobody else waits for the reader, so it may take as long as it likes.
      if let number = DescriptorOutput.write(bytes, to: descriptor, patience: nil) {
        mailbox.close()
        return progress.result.withLock { $0.errno = number }
      }
      bytes = []
      progress.result.withLock { $0.packets = written }
      let packets = mailbox.take(until: MonotonicClock.now() + .seconds(60))
      for packet in packets { bytes += CaptureBlock.packet(packet) }
      if packets.isEmpty, mailbox.isClosed { break }
      written += packets.count
    }
    let dropped = mailbox.dropped
    let number = DescriptorOutput.write(
      CaptureBlock.statistics(packets: written + dropped, dropped: dropped, at: WallClock.microseconds()),
      to: descriptor, patience: nil)
    progress.result.withLock { $0.errno = number }
  }

  /// Any thread; never blocks.
  package func record(_ packet: CapturedPacket) { mailbox.put(packet) }

  /// In microseconds since the Unix epoch, as captures tell it.
  func time(_ instant: Instant) -> Int64 { wallClockAtZero + instant.nanoseconds / 1000 }

  /// Waits until everything is written. To be called once.
  package func close(within limit: Duration = .seconds(2)) -> Result {
    mailbox.close()
    let isWritten = thread.withLock { $0.take() }?.join(until: MonotonicClock.now() + limit) ?? true
    // A thread that still writes needs its descriptor, which then ends with the process.
    if isWritten, descriptor != STDOUT_FILENO { Glibc.close(descriptor) }
    var result = progress.result.withLock { $0 }
    if !isWritten { result.errno = ETIMEDOUT }
    result.dropped = mailbox.dropped
    return result
  }
}

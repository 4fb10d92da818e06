import CLinux
import Glibc
import Testing

@testable import Base

@Suite struct DescriptorOutputTests {
  /// A pipe whose ends do not block, as a terminal that somebody else made so.
  private func pipe() throws -> (read: Int32, write: Int32) {
    signal(SIGPIPE, SIG_IGN)
    var ends: [Int32] = [-1, -1]
    try #require(otchat_pipe(&ends))
    return (ends[0], ends[1])
  }

  @Test func allIsWrittenHoweverSlowlyItIsRead() throws {
    let ends = try pipe()
    // Some pipes' fill, so that there are partial writes, and times at which nothing can be written.
    let bytes = (0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 3) }
    let received = Lock<[UInt8]>([])
    let reader = MediaThread(name: "reader") {
      otchat_set_nonblocking(ends.read, false)
      var buffer = [UInt8](repeating: 0, count: 10_000)
      while case let count = read(ends.read, &buffer, buffer.count), count > 0 {
        received.withLock { $0 += buffer[..<count] }
      }
    }
    #expect(DescriptorOutput.write(bytes, to: ends.write) == nil)
    close(ends.write)
    #expect(reader.join(until: MonotonicClock.now() + .seconds(60)))
    let isWhole = received.withLock { $0 == bytes }
    #expect(isWhole)
    close(ends.read)
  }

  @Test func patienceEnds() throws {
    let ends = try pipe()
    let more = [UInt8](repeating: 7, count: 1 << 20)
    #expect(DescriptorOutput.write(more, to: ends.write, patience: .milliseconds(20)) == ETIMEDOUT)
    close(ends.read)
    #expect(DescriptorOutput.write(more, to: ends.write, patience: nil) == EPIPE)
    close(ends.write)
  }

  @Test func whatIsNotWrittenIsKnown() throws {
    let full = open("/dev/full", O_WRONLY)
    #expect(DescriptorOutput.write("lost", to: full) == ENOSPC)
    #expect(DescriptorOutput.write("", to: full) == nil)
    close(full)
    let void = open("/dev/null", O_WRONLY)
    #expect(DescriptorOutput.write("kept", to: void) == nil)
    close(void)
    #expect(DescriptorOutput.write("nowhere", to: -1) == EBADF)
  }
}

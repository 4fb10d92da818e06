import Glibc
import Testing

@testable import Base

/// One at a time: the log is the process's.
@Suite(.serialized) struct LogTests {
  @Test func structuredLinesAreJSON() {
    var ends: [Int32] = [-1, -1]
    #expect(pipe(&ends) == 0)
    let (level, descriptor) = (Log.level, ends[1])
    Log.configure(level: .info, descriptor: descriptor, isStructured: true)
    Log.info("log-test", "a \"b\" \\ c\n\u{1}é")
    Log.debug("log-test", "not said")
    Log.configure(level: level, descriptor: 2)
    // The writing end stays open: another thread may have been about to log.
    _ = fcntl(ends[0], F_SETFL, O_NONBLOCK)
    var bytes = [UInt8](repeating: 0, count: 4096)
    let count = read(ends[0], &bytes, bytes.count)
    close(ends[0])
    // What other tests log meanwhile is none of ours.
    let lines = String(decoding: bytes.prefix(max(0, count)), as: UTF8.self).split(separator: "\n")
      .filter { $0.contains("log-test") }
    #expect(lines.count == 1)
    #expect(
      lines.first?.hasSuffix(
        #","level":"info","module":"log-test","message":"a \"b\" \\ c\u000a\u0001é"}"#) == true)
    #expect(lines.first?.hasPrefix(#"{"time":"#) == true)
  }
}

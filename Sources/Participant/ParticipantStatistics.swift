import CLinux
import Glibc
import OTKit
import OpenTokProtocol

/// The session's statistics and what the process costs.
package struct ParticipantStatistics: Sendable, Equatable {
  package var session: Statistics
  /// User and system, since the process began.
  package var cpuSeconds: Double
  package var rssBytes: Int64

  /// As in a `stats` event.
  package var json: JSON.Object {
    var object = session.json.objectValue ?? [:]
    object["process"] = ["cpuSeconds": .number(cpuSeconds), "rssBytes": .integer(rssBytes)]
    return object
  }
}

extension Participant {
  package func statistics() async -> ParticipantStatistics {
    ParticipantStatistics(
      session: await session.statistics(), cpuSeconds: Double(otchat_cpu_microseconds()) / 1e6,
      rssBytes: Self.residentBytes())
  }

  /// The second number of /proc/self/statm, in pages; 0 if it cannot be read.
  private static func residentBytes() -> Int64 {
    let descriptor = open("/proc/self/statm", O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return 0 }
    defer { close(descriptor) }
    var buffer = [UInt8](repeating: 0, count: 128)
    let count = max(0, read(descriptor, &buffer, buffer.count))
    let fields = String(decoding: buffer[..<count], as: UTF8.self).split(separator: " ")
    return fields.count > 1 ? (Int64(fields[1]) ?? 0) * Int64(sysconf(Int32(_SC_PAGESIZE))) : 0
  }
}

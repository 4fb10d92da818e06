import Glibc

/// CLOCK_MONOTONIC. Asked only by code that does IO.
package enum MonotonicClock {
  package static func now() -> Instant {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return Instant(nanoseconds: Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec))
  }
}

/// CLOCK_REALTIME. Asked only by code that does IO.
package enum WallClock {
  /// Microseconds since the Unix epoch.
  package static func microseconds() -> Int64 {
    var time = timespec()
    clock_gettime(CLOCK_REALTIME, &time)
    return Int64(time.tv_sec) &* 1_000_000 &+ Int64(time.tv_nsec) / 1000
  }

  /// `14:05`, local time.
  package static func timeOfDay() -> String {
    var seconds = time_t(microseconds() / 1_000_000)
    var local = tm()
    localtime_r(&seconds, &local)
    let digits = { (number: Int32) in String(100 + number % 100).dropFirst() }
    return "\(digits(local.tm_hour)):\(digits(local.tm_min))"
  }

  /// Seconds since the Unix epoch.
  package static func seconds() -> Double { Double(microseconds()) / 1e6 }
}

/// A 64-bit NTP timestamp: seconds since 1900 in the upper half, fraction in the lower (RFC 3550, 4).
package struct NTPTime: Hashable, Sendable {
  package var value: UInt64

  package init(value: UInt64) { self.value = value }

  /// - Parameter microseconds: since the Unix epoch.
  package init(unixMicroseconds microseconds: Int64) {
    let clamped = UInt64(max(0, microseconds))
    let seconds = clamped / 1_000_000 &+ 2_208_988_800
    let fraction = ((clamped % 1_000_000) << 32) / 1_000_000
    value = seconds << 32 | fraction
  }

  /// The middle 32 bits, as in `lsr` and `dlsr` of report blocks (units of 1/65536 s).
  package var middle: UInt32 { UInt32(truncatingIfNeeded: value >> 16) }

  /// Microseconds since the Unix epoch; negative before it.
  package var unixMicroseconds: Int64 {
    let seconds = Int64(value >> 32) - 2_208_988_800
    // Rounded up, so that what was made from whole microseconds comes back as it was.
    let fraction = Int64(((value & 0xFFFF_FFFF) * 1_000_000 + 0xFFFF_FFFF) >> 32)
    return seconds * 1_000_000 + fraction
  }
}

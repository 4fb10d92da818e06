import Glibc

/// The time in an HTTP header (RFC 9110, 5.6.7), whatever the process's locale.
enum HTTPDate {
  private static let days = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
  private static let months = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
  ]

  /// - Parameter seconds: since 1970; `Sun, 06 Nov 1994 08:49:37 GMT` for 784111777.
  static func text(_ seconds: Int64) -> String {
    var time = time_t(seconds)
    var parts = tm()
    gmtime_r(&time, &parts)
    func two(_ number: Int32) -> String { number < 10 ? "0\(number)" : "\(number)" }
    let day = days[Int(parts.tm_wday) % days.count]
    let month = months[Int(parts.tm_mon) % months.count]
    return "\(day), \(two(parts.tm_mday)) \(month) \(1900 + parts.tm_year) "
      + "\(two(parts.tm_hour)):\(two(parts.tm_min)):\(two(parts.tm_sec)) GMT"
  }
}

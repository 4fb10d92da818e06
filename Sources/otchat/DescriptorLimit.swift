import Base
import Glibc

/// How many descriptors a process may have.
enum DescriptorLimit {
  /// More than a server has use for; some systems allow a thousand million, and there are libraries that go
  /// through all of them.
  private static let enough: rlim_t = 65_536

  /// Takes what the hard limit allows: the soft one is for programs that use select(2).
  static func raise() {
    var limit = rlimit()
    guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return }
    let wanted = min(limit.rlim_max, enough)
    guard limit.rlim_cur < wanted else { return }
    limit.rlim_cur = wanted
    if setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) != 0 {
      Log.warning("serve", "the limit of descriptors stays: \(String(cString: strerror(errno)))")
    }
  }
}

import Base
import Glibc

/// What a process needs before it can begin. Later nobody could tell: without threads Swift's runtime waits for
/// ever, without descriptors it traps.
enum ProcessNeeds {
  /// A server that does nothing yet has six besides the first, a call one or two more.
  private static let threads = 8
  /// A server that does nothing yet has sixteen besides the standard ones.
  private static let descriptors = 20

  static func check() throws {
    if !hasDescriptors(descriptors) { DescriptorLimit.raise() }
    guard hasDescriptors(descriptors) else {
      throw Failure(
        .internalError, "fewer than \(descriptors) file descriptors are left for this process",
        hint: "'ulimit -n 1024' raises the limit")
    }
    do throws(ThreadError) {
      try MediaThread.expect(threads)
    } catch {
      throw Failure(
        .internalError, "no threads left: fewer than \(threads) for this process", hint: ThreadError.hint)
    }
  }

  /// Whether the process may open so many more.
  static func hasDescriptors(_ count: Int) -> Bool {
    var taken: [Int32] = []
    defer { for descriptor in taken { close(descriptor) } }
    while taken.count < count {
      let descriptor = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0)
      guard descriptor >= 0 else { return false }
      taken.append(descriptor)
    }
    return true
  }
}

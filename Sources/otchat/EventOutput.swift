import Foundation

/// Where `--events` goes.
enum EventOutput {
  /// - Parameter path: `-` is standard output; a file is begun anew.
  /// - Returns: a descriptor.
  static func open(_ path: String, mode: mode_t = 0o644) throws -> Int32 {
    if path == "-" { return STDOUT_FILENO }
    let descriptor = Glibc.open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode)
    guard descriptor >= 0 else {
      throw Failure(.cannotWrite, "cannot write \(path): \(String(cString: strerror(errno)))")
    }
    return descriptor
  }
}

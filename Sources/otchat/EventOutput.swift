import Foundation

/// Where `--events` goes.
enum EventOutput {
  /// - Parameter path: `-` is standard output; a file is begun anew.
  /// - Returns: a descriptor.
  static func open(_ path: String) throws -> Int32 {
    if path == "-" { return STDOUT_FILENO }
    let descriptor = Glibc.open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o644)
    guard descriptor >= 0 else {
      throw Failure(.cannotWrite, "cannot write \(path): \(String(cString: strerror(errno)))")
    }
    return descriptor
  }
}

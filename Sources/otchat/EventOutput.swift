import Base
import Glibc

/// Where `--events`, reports and captures go.
enum EventOutput {
  /// - Parameter path: `-` is standard output; a file is begun anew.
  /// - Returns: a descriptor.
  static func open(_ path: String, mode: mode_t = 0o644) throws -> Int32 {
    if path == "-" { return STDOUT_FILENO }
    let descriptor = Glibc.open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode)
    guard descriptor >= 0 else {
      throw Failure(lost: errno, of: path)
    }
    if mode & 0o077 == 0 { try restrict(descriptor, path, to: mode) }
    return descriptor
  }

  /// Writes a report whole and closes its file.
  static func write(_ text: String, to descriptor: Int32, named path: String) throws(Failure) {
    let error = DescriptorOutput.write(text, to: descriptor)
    if descriptor != STDOUT_FILENO { close(descriptor) }
    if let error { throw Failure(lost: error, of: path) }
  }

  /// A file that was there before had a mode of its own.
  private static func restrict(_ descriptor: Int32, _ path: String, to mode: mode_t) throws {
    var status = stat()
    guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return }
    guard fchmod(descriptor, mode) == 0 else {
      let reason = String(cString: strerror(errno))
      close(descriptor)
      throw Failure(.cannotWrite, "cannot keep \(path) from others' eyes: \(reason)")
    }
  }
}

import Glibc

/// A folder that recordings go to.
package struct RecordingDirectory: Sendable, Equatable {
  package let path: String

  private static let longestName = 80
  /// Recordings of one name within one second.
  private static let maximumRepetitions = 1000

  package init(path: String) { self.path = path }

  /// Makes the folder if there is none, and tries whether it can be written to.
  package func prepare() throws(SourceError) {
    if mkdir(path, 0o755) != 0, errno != EEXIST { throw failure(path) }
    let trial = path + "/.otchat-\(getpid())"
    let descriptor = open(trial, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw failure(path) }
    close(descriptor)
    unlink(trial)
  }

  /// Reserves a file whose name tells the stream and when it began, by making it.
  ///
  /// - Parameters:
  ///   - name: of any content, since a stranger chose it.
  ///   - seconds: since 1970.
  /// - Returns: its path.
  package func reserve(name: String, at seconds: Int64) throws(SourceError) -> String {
    let stem = path + "/" + Self.fileName(name) + "-" + Self.time(seconds)
    for repetition in 1...Self.maximumRepetitions {
      let file = stem + (repetition == 1 ? "" : "-\(repetition)") + ".webm"
      let descriptor = open(file, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o644)
      if descriptor >= 0 {
        close(descriptor)
        return file
      }
      guard errno == EEXIST else { throw failure(file) }
    }
    throw .cannotWrite(path: stem, reason: "there are too many of that name")
  }

  private func failure(_ path: String) -> SourceError {
    .cannotWrite(path: path, reason: String(cString: strerror(errno)))
  }

  /// Letters and digits of any script; of the rest, what means nothing to a shell or a file system.
  static func fileName(_ name: String) -> String {
    var safe = ""
    for scalar in name.unicodeScalars {
      let isKept = scalar.properties.isAlphabetic || scalar.properties.numericType != nil
      let character: Unicode.Scalar = isKept || scalar == "_" || scalar == "." ? scalar : "-"
      if character == "-", safe.hasSuffix("-") { continue }
      guard safe.utf8.count + UTF8.width(character) <= longestName else { break }
      safe.unicodeScalars.append(character)
    }
    while let first = safe.unicodeScalars.first, first == "." || first == "-" {
      safe.unicodeScalars.removeFirst()
    }
    while safe.unicodeScalars.last == "-" { safe.unicodeScalars.removeLast() }
    return safe.isEmpty ? "stream" : safe
  }

  /// `20261130-211503`, local time.
  private static func time(_ seconds: Int64) -> String {
    var instant = time_t(seconds)
    var local = tm()
    localtime_r(&instant, &local)
    var buffer = [CChar](repeating: 0, count: 32)
    let count = strftime(&buffer, buffer.count, "%Y%m%d-%H%M%S", &local)
    return String(decoding: buffer[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }
}

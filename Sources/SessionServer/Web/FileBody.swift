import Glibc

/// A part of a file that is sent as a response's body, piece by piece as the client takes it.
package final class FileBody: Sendable {
  let size: Int64
  private let descriptor: Int32

  /// Nil if that is no file that can be read.
  init?(path: String) {
    descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
    guard descriptor >= 0 else { return nil }
    var status = stat()
    guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
      close(descriptor)
      return nil
    }
    size = Int64(status.st_size)
  }

  deinit { close(descriptor) }

  /// Reads up to the whole of `buffer`; the count, or nil if that fails or the file has become shorter.
  func read(_ buffer: UnsafeMutableRawBufferPointer, at offset: Int64) -> Int? {
    let count = pread(descriptor, buffer.baseAddress, buffer.count, off_t(offset))
    return count > 0 ? count : nil
  }
}

/// What of a file is asked for (RFC 9110, 14.1).
enum FileRange: Equatable {
  case whole
  case part(Range<Int64>)
  case unsatisfiable

  /// Several ranges at once, or what makes no sense, get the whole file.
  init(header: String?, size: Int64) {
    guard let header, header.hasPrefix("bytes="), !header.contains(",") else {
      self = .whole
      return
    }
    let ends = header.dropFirst(6).split(separator: "-", omittingEmptySubsequences: false)
    func number(_ text: Substring) -> Int64? {
      text.utf8.allSatisfy { (0x30...0x39).contains($0) } ? Int64(text) : nil
    }
    guard ends.count == 2 else {
      self = .whole
      return
    }
    switch (number(ends[0]), number(ends[1])) {
    case (let first?, let last?) where first <= last:
      self = first < size ? .part(first..<min(size, last == .max ? size : last + 1)) : .unsatisfiable
    case (let first?, nil) where ends[1].isEmpty:
      self = first < size ? .part(first..<size) : .unsatisfiable
    case (nil, let count?) where ends[0].isEmpty:
      self = count > 0 && size > 0 ? .part(max(0, size - count)..<size) : .unsatisfiable
    default: self = .whole
    }
  }
}

extension HTTPResponse {
  /// A file, or the range of it that the request asks for; nil if it cannot be read.
  static func file(_ path: String, contentType: String, for request: HTTPRequest) -> HTTPResponse? {
    guard let file = FileBody(path: path) else { return nil }
    // Files have no validator here, so none that a client names can be meant.
    let header = request.header("if-range") == nil ? request.header("range") : nil
    var response = HTTPResponse(
      status: 200, headers: [("Content-Type", contentType), ("Accept-Ranges", "bytes")])
    switch FileRange(header: header, size: file.size) {
    case .whole: response.file = (file, 0..<file.size)
    case .part(let range):
      response.status = 206
      response.headers.append(
        ("Content-Range", "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(file.size)"))
      response.file = (file, range)
    case .unsatisfiable:
      response = .failure(416, "the file has no such range")
      response.headers.append(("Content-Range", "bytes */\(file.size)"))
    }
    return response
  }
}

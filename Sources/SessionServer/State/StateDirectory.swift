import Base
import Glibc

/// Where the server keeps what it made once: `$XDG_STATE_HOME/otchat`. Only its owner may look into it.
struct StateDirectory {
  let path: String

  /// The standard place; nil if the environment has neither `XDG_STATE_HOME` nor `HOME`.
  static func standardPath(environment: (String) -> String?) -> String? {
    // A relative path is to be ignored (XDG Base Directory Specification).
    if let state = environment("XDG_STATE_HOME"), state.hasPrefix("/") { return state + "/otchat" }
    if let home = environment("HOME"), home.hasPrefix("/") { return home + "/.local/state/otchat" }
    return nil
  }

  /// Makes the directory and those above it if need be.
  init(path: String) throws(SessionServerError) {
    self.path = path
    var made = path.hasPrefix("/") ? "" : "."
    for part in path.split(separator: "/") {
      made += "/" + part
      guard mkdir(made, 0o700) == 0 || errno == EEXIST || access(made, F_OK) == 0 else {
        throw .state(path: made, reason: Self.lastError)
      }
    }
  }

  /// The bytes of a file, at most so many; nil if there is none. Takes read rights from others that it finds
  /// there.
  func read(_ name: String, limit: Int = 64 << 10) throws(SessionServerError) -> [UInt8]? {
    let file = self.file(name)
    let descriptor = open(file, O_RDONLY | O_CLOEXEC)
    if descriptor < 0 && errno == ENOENT { return nil }
    guard descriptor >= 0 else { throw .state(path: file, reason: Self.lastError) }
    defer { close(descriptor) }
    _ = fchmod(descriptor, 0o600)
    var status = stat()
    let size = fstat(descriptor, &status) == 0 ? min(max(0, Int(status.st_size)), limit) : 0
    var bytes = [UInt8](repeating: 0, count: size)
    let count = Glibc.read(descriptor, &bytes, bytes.count)
    guard count >= 0 else { throw .state(path: file, reason: Self.lastError) }
    return Array(bytes[..<count])
  }

  /// Writes a file that only its owner can read, whole or not at all.
  ///
  /// - Returns: false if another process was first: its file stays, unless this one `replaces` it.
  func write(_ name: String, _ bytes: [UInt8], replaces: Bool = false) throws(SessionServerError) -> Bool {
    let file = self.file(name)
    let draft = "\(file).\(getpid())-\(UInt32.random(in: 0...UInt32.max))"
    let descriptor = open(draft, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw .state(path: draft, reason: Self.lastError) }
    defer { unlink(draft) }
    let fault = DescriptorOutput.write(bytes, to: descriptor)
    let isClosed = close(descriptor) == 0
    if let number = fault ?? (isClosed ? nil : errno) {
      throw .state(path: file, reason: String(cString: strerror(number)))
    }
    // link(2) fails if the file is there, so of two processes one wins.
    if (replaces ? rename(draft, file) : link(draft, file)) == 0 { return true }
    if errno == EEXIST { return false }
    throw .state(path: file, reason: Self.lastError)
  }

  /// The names of all that is there.
  var names: [String] {
    guard let listing = opendir(path) else { return [] }
    defer { closedir(listing) }
    var names: [String] = []
    while let entry = readdir(listing) {
      names.append(
        withUnsafePointer(to: &entry.pointee.d_name) {
          $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
        })
    }
    return names
  }

  func remove(_ name: String) { unlink(file(name)) }

  func file(_ name: String) -> String { path + "/" + name }

  private static var lastError: String { String(cString: strerror(errno)) }
}

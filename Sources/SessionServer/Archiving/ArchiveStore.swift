import Base
import Glibc
import OpenTokProtocol

/// The archives: in their directory one for each, with its files, and in the database what is known of it.
///
/// Its calls wait for the disk: once clients are there, they belong onto the `DiskQueue`.
struct ArchiveStore {
  /// Older versions kept what is known of an archive beside its files.
  private static let recordName = "archive.json"
  private static let lockName = "recording.lock"
  private static let maximumRecord = 1 << 20

  let path: String
  let database: Database

  func directory(_ id: String) -> String { path + "/" + id }

  /// Makes the directory if need be: who named one learns now that nothing can be kept there, not after a call.
  static func prepare(_ path: String) throws(SessionServerError) {
    do throws(SessionServerError) {
      _ = try StateDirectory(path: path)
    } catch {
      guard case .state(let path, let reason) = error else { throw error }
      throw .archives(path: path, reason: reason)
    }
    // The dot tells a folder from a file.
    guard access(path + "/.", W_OK | X_OK) == 0 else {
      throw .archives(path: path, reason: String(cString: strerror(errno)))
    }
  }

  /// All that can be read and whose files are in this directory, but those that another server is recording.
  func load() throws(SessionServerError) -> [Archive] {
    try takeOver()
    let rows = try database.transaction { (connection) throws(SessionServerError) in
      try connection.rows("SELECT id, record FROM archive ORDER BY id")
    }
    return rows.compactMap { row in
      guard let id = row[0]?.text, UUID.isWellFormed(id) else { return nil }
      // They may be those of a server with another directory, or on a disk that is not there now.
      guard access(directory(id), F_OK) == 0 else { return nil }
      guard let archive = row[1]?.record.flatMap({ Archive(record: $0) }), archive.id == id else {
        Log.warning("serve", "what is known of archive \(id) cannot be read")
        return nil
      }
      if archive.status == .started || archive.status == .stopped {
        guard let lock = lock(id) else { return nil }
        lock.release()
      }
      return archive
    }
  }

  /// Writes down what is known of an archive; makes its directory if need be.
  func keep(_ archive: Archive) throws(SessionServerError) {
    _ = try StateDirectory(path: directory(archive.id))
    try database.transaction { (connection) throws(SessionServerError) in
      try connection.run(
        "INSERT OR REPLACE INTO archive VALUES (?, ?)", .text(archive.id), .record(archive.record))
    }
  }

  /// Removes an archive's directory with all files in it, and then what is known of it, which counts for nothing
  /// without the directory.
  func erase(_ id: String) throws(SessionServerError) {
    let directory = directory(id)
    for name in Self.names(in: directory) { unlink(directory + "/" + name) }
    if rmdir(directory) != 0, errno != ENOENT {
      Log.warning("serve", "\(directory) cannot be removed")
    }
    try database.transaction { (connection) throws(SessionServerError) in
      try connection.run("DELETE FROM archive WHERE id = ?", .text(id))
    }
  }

  /// Moves what an older version kept beside the files into the database. An archive that is known already was
  /// put there by hand, with an old record.
  private func takeOver() throws(SessionServerError) {
    let found = Self.names(in: path).filter(UUID.isWellFormed).compactMap {
      id -> (id: String, record: JSON)? in
      let directory = try? StateDirectory(path: directory(id))
      let bytes = try? directory?.read(Self.recordName, limit: Self.maximumRecord)
      guard let bytes, let record = try? JSON(parsing: bytes), Archive(record: record)?.id == id else {
        if bytes != nil { Log.warning("serve", "\(self.directory(id)) holds no archive that can be read") }
        return nil
      }
      return (id, record)
    }
    guard !found.isEmpty else { return }
    try database.transaction { (connection) throws(SessionServerError) in
      for (id, record) in found {
        try connection.run("INSERT OR IGNORE INTO archive VALUES (?, ?)", .text(id), .record(record))
      }
    }
    for (id, _) in found { unlink(directory(id) + "/" + Self.recordName) }
  }

  private static func names(in directory: String) -> [String] {
    guard let listing = opendir(directory) else { return [] }
    defer { closedir(listing) }
    var names: [String] = []
    while let entry = readdir(listing) {
      let name = withUnsafePointer(to: &entry.pointee.d_name) {
        $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
      }
      if name != "." && name != ".." { names.append(name) }
    }
    return names
  }

  /// Takes an archive for this process; nil if another one is recording it.
  func lock(_ id: String) -> ArchiveLock? { ArchiveLock(directory(id) + "/" + Self.lockName) }
}

/// Says, until it is released, that this process is recording an archive. The system lets go of it when the
/// process dies.
final class ArchiveLock: Sendable {
  private let descriptor: Int32
  private let path: String

  init?(_ path: String) {
    self.path = path
    descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { return nil }
    guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
      close(descriptor)
      return nil
    }
  }

  deinit { close(descriptor) }

  func release() {
    unlink(path)
    flock(descriptor, LOCK_UN)
  }
}

import Base
import Glibc
import OpenTokProtocol

/// The directory of the archives: in it one for each, with its record (`archive.json`) and its files.
///
/// Documents and not a database: an archive is its directory, which can be copied, moved and removed with
/// everything that is known of it. Its calls wait for the disk: once clients are there, they belong onto the
/// `DiskQueue`.
struct ArchiveStore {
  private static let recordName = "archive.json"
  private static let lockName = "recording.lock"
  private static let maximumRecord = 1 << 20

  let path: String

  func directory(_ id: String) -> String { path + "/" + id }

  /// Makes the directory if need be: who named one learns now that nothing can be kept there, not after a call.
  func prepare() throws(SessionServerError) {
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

  /// All that were kept and can be read, but those that another server of this directory is recording.
  /// Nothing if there is no such directory yet.
  func load() -> [Archive] {
    guard let listing = opendir(path) else { return [] }
    defer { closedir(listing) }
    var archives: [Archive] = []
    while let entry = readdir(listing) {
      let name = withUnsafePointer(to: &entry.pointee.d_name) {
        $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
      }
      guard UUID.isWellFormed(name) else { continue }
      guard let bytes = Self.read(directory(name) + "/" + Self.recordName),
        let record = try? JSON(parsing: bytes), let archive = Archive(record: record), archive.id == name
      else {
        Log.warning("serve", "\(directory(name)) holds no archive that can be read")
        continue
      }
      let isUnfinished = archive.status == .started || archive.status == .stopped
      if isUnfinished {
        guard let lock = lock(name) else { continue }
        lock.release()
      }
      archives.append(archive)
    }
    return archives
  }

  /// Writes an archive's record, whole or not at all; makes its directory if need be.
  func keep(_ archive: Archive) throws(SessionServerError) {
    _ = try StateDirectory(path: directory(archive.id)).write(
      Self.recordName, archive.record.serialized() + [10], replaces: true)
  }

  /// Removes an archive's directory with all files in it.
  func erase(_ id: String) {
    let directory = directory(id)
    guard let listing = opendir(directory) else { return }
    var names: [String] = []
    while let entry = readdir(listing) {
      names.append(
        withUnsafePointer(to: &entry.pointee.d_name) {
          $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
        })
    }
    closedir(listing)
    // The record last: what is left after a crash is still known.
    for name in names.sorted(by: { ($0 == Self.recordName ? 1 : 0) < ($1 == Self.recordName ? 1 : 0) })
    where name != "." && name != ".." {
      unlink(directory + "/" + name)
    }
    if rmdir(directory) != 0 { Log.warning("serve", "\(directory) cannot be removed") }
  }

  /// Takes an archive for this process; nil if another one is recording it.
  func lock(_ id: String) -> ArchiveLock? { ArchiveLock(directory(id) + "/" + Self.lockName) }

  private static func read(_ path: String) -> [UInt8]? {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return nil }
    defer { close(descriptor) }
    var bytes: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 64 << 10)
    while bytes.count <= maximumRecord {
      let count = Glibc.read(descriptor, &buffer, buffer.count)
      guard count >= 0 else { return nil }
      if count == 0 { return bytes }
      bytes += buffer[..<count]
    }
    return nil
  }
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

import Base
import Glibc
import OpenTokProtocol

/// The sessions of a running server, a file each in `sessions` of its state directory. What is in them when a
/// server starts is what one that died left there.
///
/// Its calls wait for the disk: once clients are there, they belong onto the `DiskQueue`.
final class SessionStore: Sendable {
  private static let lockName = "server.lock"
  private static let maximumRecord = 64 << 20

  private let directory: StateDirectory
  /// Says, as long as it is open, that this process keeps its sessions here.
  private let lock: Int32
  /// How long ago the server before this one, if there was one, was last there.
  let absence: Duration

  /// Nil if another process keeps its sessions there.
  init?(path: String) throws(SessionServerError) {
    directory = try StateDirectory(path: path)
    let file = directory.file(Self.lockName)
    lock = open(file, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    var status = stat()
    let isKnown = lock >= 0 && fstat(lock, &status) == 0
    let last = Int64(status.st_mtim.tv_sec) * 1_000_000 + Int64(status.st_mtim.tv_nsec) / 1000
    absence = isKnown ? .microseconds(max(0, WallClock.microseconds() - last)) : .zero
    // From here on `deinit` closes it.
    guard isKnown, flock(lock, LOCK_EX | LOCK_NB) == 0 else {
      if isKnown, errno == EWOULDBLOCK { return nil }
      throw .state(path: file, reason: String(cString: strerror(errno)))
    }
    // Of a server that died in the middle of writing.
    for name in directory.names where !name.hasSuffix(".json") && name != Self.lockName && name.first != "." {
      directory.remove(name)
    }
    touch()
  }

  deinit { if lock >= 0 { close(lock) } }

  /// The next server may have them.
  func release() { flock(lock, LOCK_UN) }

  /// Says that this server is there: `absence` counts from the last time.
  func touch() { futimens(lock, nil) }

  /// All records of sessions of that key. Those of others stay where they are.
  func load(apiKey: String) -> [JSON] {
    directory.names.filter { $0.hasSuffix(".json") }.sorted().compactMap { name in
      guard let bytes = try? directory.read(name, limit: Self.maximumRecord),
        let record = try? JSON(parsing: bytes),
        let session = record["session"]?.stringValue, Self.name(session) == name
      else {
        Log.warning("serve", "\(directory.file(name)) holds no session that can be read")
        return nil
      }
      return SessionID(session)?.belongs(to: apiKey) == true ? record : nil
    }
  }

  /// Writes a session down, whole or not at all; nil: it is over.
  func keep(_ record: JSON?, of session: String) throws(SessionServerError) {
    let name = Self.name(session)
    guard let record else { return directory.remove(name) }
    _ = try directory.write(name, record.serialized() + [10], replaces: true)
  }

  /// The same for each of several.
  /// - Returns: of those that could not be written, why.
  func keep(_ records: [(session: String, record: JSON?)]) -> [String: SessionServerError] {
    var faults: [String: SessionServerError] = [:]
    for (session, record) in records {
      do throws(SessionServerError) { try keep(record, of: session) } catch { faults[session] = error }
    }
    return faults
  }

  /// A session's id can be as long as a file's name may be.
  private static func name(_ session: String) -> String {
    Hexadecimal.text(Signature.sha256(session.utf8, key: "session")) + ".json"
  }
}

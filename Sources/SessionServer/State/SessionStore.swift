import Base
import Glibc
import OpenTokProtocol

/// The sessions of a running server, a file each in `sessions` of its state directory. What is in them when a
/// server starts is what one that died left there.
final class SessionStore {
  private static let lockName = "server.lock"
  private static let maximumRecord = 64 << 20

  private let directory: StateDirectory
  /// Says, as long as it is open, that this process keeps its sessions here.
  private let lock: Int32

  /// Nil if another process keeps its sessions there.
  init?(path: String) throws(SessionServerError) {
    directory = try StateDirectory(path: path)
    lock = open(directory.file(Self.lockName), O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    guard lock >= 0, flock(lock, LOCK_EX | LOCK_NB) == 0 else {
      if lock >= 0 { close(lock) }
      return nil
    }
  }

  deinit { close(lock) }

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
  func keep(_ record: JSON?, of session: String) {
    let name = Self.name(session)
    guard let record else { return directory.remove(name) }
    do {
      _ = try directory.write(name, record.serialized() + [10], replaces: true)
    } catch {
      Log.error("serve", "a session's record cannot be written to \(directory.path)")
    }
  }

  /// A session's id can be as long as a file's name may be.
  private static func name(_ session: String) -> String {
    Hexadecimal.text(Signature.sha256(session.utf8, key: "session")) + ".json"
  }
}

import Base
import Glibc
import OpenTokProtocol

/// The sessions of a running server. What is in the database when a server starts is what one that died left
/// there.
///
/// Its calls wait for the disk: once clients are there, they belong onto the `DiskQueue`.
final class SessionStore: Sendable {
  private static let lockName = "server.lock"
  private static let maximumRecord = 64 << 20

  private let database: Database
  /// Says, as long as it is open, that this process keeps its sessions here.
  private let lock: Int32
  /// How long ago the server before this one, if there was one, was last there.
  let absence: Duration

  /// Nil if another process keeps its sessions there.
  ///
  /// - Parameter path: the directory of the lock, and of the files that older versions kept sessions in.
  init?(path: String, database: Database) throws(SessionServerError) {
    self.database = database
    let directory = try StateDirectory(path: path)
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
    try takeOver(directory)
    touch()
  }

  deinit { if lock >= 0 { close(lock) } }

  /// The next server may have them.
  func release() { flock(lock, LOCK_UN) }

  /// Says that this server is there: `absence` counts from the last time.
  func touch() { futimens(lock, nil) }

  /// All records of sessions of that key. Those of others stay where they are.
  func load(apiKey: String) throws(SessionServerError) -> [JSON] {
    let rows = try database.transaction { (connection) throws(SessionServerError) in
      try connection.rows("SELECT id, record FROM session ORDER BY id")
    }
    var records: [JSON] = []
    for row in rows {
      guard let session = row[0]?.text, let record = row[1]?.record, record["session"]?.stringValue == session
      else {
        Log.warning("serve", "\(database.path) holds a session that cannot be read")
        continue
      }
      if SessionID(session)?.belongs(to: apiKey) == true { records.append(record) }
    }
    return records
  }

  /// Writes sessions down, all or none; a record of nil: it is over.
  func keep(_ records: [(session: String, record: JSON?)]) throws(SessionServerError) {
    guard !records.isEmpty else { return }
    try database.transaction { (connection) throws(SessionServerError) in
      for (session, record) in records { try Self.keep(record, of: session, connection) }
    }
  }

  private static func keep(
    _ record: JSON?, of session: String, _ connection: Database.Connection
  ) throws(SessionServerError) {
    if let record {
      try connection.run("INSERT OR REPLACE INTO session VALUES (?, ?)", .text(session), .record(record))
    } else {
      try connection.run("DELETE FROM session WHERE id = ?", .text(session))
    }
  }

  /// Moves what an older version left in files, a session each, into the database.
  private func takeOver(_ directory: StateDirectory) throws(SessionServerError) {
    let names = directory.names.filter { $0 != Self.lockName && $0.first != "." }
    let records = names.filter { $0.hasSuffix(".json") }.compactMap { name in
      (try? directory.read(name, limit: Self.maximumRecord)).flatMap { try? JSON(parsing: $0) }
    }
    try keep(records.compactMap { record in record["session"]?.stringValue.map { ($0, record) } })
    names.forEach(directory.remove)
  }
}

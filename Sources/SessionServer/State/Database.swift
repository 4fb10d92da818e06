import Base
import CSQLite
import Glibc

/// An SQLite database with a write-ahead log that only its owner can read. What a transaction has done when it
/// returns outlives the process, however that ends.
///
/// Any thread; its calls wait for the disk, and up to five seconds for another process's transaction.
final class Database: Sendable {
  /// What is bound to a statement, and what a column holds.
  enum Value: Equatable, Sendable {
    case text(String)
    case integer(Int64)

    var text: String? { if case .text(let text) = self { text } else { nil } }
    var integer: Int64? { if case .integer(let number) = self { number } else { nil } }
  }

  private static let patience: Int32 = 5000

  let path: String
  private let connection: Lock<Connection>

  /// Opens it, makes it if there is none, and brings it to the newest version.
  ///
  /// - Parameter migrations: SQL that makes of each version the next one; the first makes an empty one's tables.
  init(path: String, migrations: [String]) throws(SessionServerError) {
    self.path = path
    // The log and its index get the database's rights.
    let made = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    let fault = made < 0 && errno != EEXIST ? errno : 0
    if made >= 0 { close(made) } else { chmod(path, 0o600) }
    var handle: OpaquePointer?
    let code = sqlite3_open_v2(path, &handle, SQLITE_OPEN_READWRITE | SQLITE_OPEN_FULLMUTEX, nil)
    guard code == SQLITE_OK, let handle else {
      sqlite3_close(handle)
      throw .state(
        path: path,
        reason: String(cString: fault != 0 ? UnsafePointer(strerror(fault)) : sqlite3_errstr(code)))
    }
    sqlite3_busy_timeout(handle, Self.patience)
    connection = Lock(Connection(handle: handle, path: path))
    try connection.withLock { (connection) throws(SessionServerError) in
      _ = try connection.rows("PRAGMA journal_mode = WAL")
      try connection.run("PRAGMA synchronous = NORMAL")
    }
    try migrate(migrations)
  }

  deinit { connection.withLock { _ = sqlite3_close($0.handle) } }

  private func migrate(_ migrations: [String]) throws(SessionServerError) {
    let path = path
    try transaction { (connection) throws(SessionServerError) in
      let version = try connection.rows("PRAGMA user_version").first?.first??.integer ?? 0
      guard version >= 0, version <= migrations.count else { throw .newerState(path: path) }
      for step in migrations[Int(version)...] { try connection.run(all: step) }
      if version < migrations.count { try connection.run("PRAGMA user_version = \(migrations.count)") }
    }
  }

  /// All that is done in it, or nothing; others see it whole.
  func transaction<Result: Sendable>(
    _ body: (Connection) throws(SessionServerError) -> Result
  ) throws(SessionServerError) -> Result {
    try connection.withLock { (connection) throws(SessionServerError) in
      try connection.run("BEGIN IMMEDIATE")
      do throws(SessionServerError) {
        let result = try body(connection)
        try connection.run("COMMIT")
        return result
      } catch {
        try? connection.run("ROLLBACK")
        throw error
      }
    }
  }

  /// Within a transaction.
  struct Connection: @unchecked Sendable {
    // Safe to share: it is used only while the database's lock is held.
    fileprivate let handle: OpaquePointer
    fileprivate let path: String

    /// A statement that gives nothing back.
    func run(_ sql: String, _ values: Value...) throws(SessionServerError) { _ = try rows(sql, values) }

    /// What a statement finds, a row each.
    func rows(_ sql: String, _ values: Value...) throws(SessionServerError) -> [[Value?]] {
      try rows(sql, values)
    }

    /// Statements without values, one after the other.
    func run(all sql: String) throws(SessionServerError) {
      guard sqlite3_exec(handle, sql, nil, nil, nil) == SQLITE_OK else { throw fault }
    }

    private func rows(_ sql: String, _ values: [Value]) throws(SessionServerError) -> [[Value?]] {
      var statement: OpaquePointer?
      guard sqlite3_prepare_v2(handle, sql, -1, &statement, nil) == SQLITE_OK else { throw fault }
      defer { sqlite3_finalize(statement) }
      for (index, value) in values.enumerated() {
        let position = Int32(index + 1)
        let code =
          switch value {
          case .text(let text):
            otchat_sqlite_bind_text(statement, position, text, sqlite3_uint64(text.utf8.count))
          case .integer(let number): sqlite3_bind_int64(statement, position, number)
          }
        guard code == SQLITE_OK else { throw fault }
      }
      var rows: [[Value?]] = []
      while true {
        switch sqlite3_step(statement) {
        case SQLITE_ROW: rows.append((0..<sqlite3_column_count(statement)).map { column(statement, $0) })
        case SQLITE_DONE: return rows
        default: throw fault
        }
      }
    }

    private func column(_ statement: OpaquePointer?, _ index: Int32) -> Value? {
      switch sqlite3_column_type(statement, index) {
      case SQLITE_INTEGER: return .integer(sqlite3_column_int64(statement, index))
      case SQLITE_NULL: return nil
      default:
        let text = sqlite3_column_text(statement, index)
        let count = Int(sqlite3_column_bytes(statement, index))
        return .text(String(decoding: UnsafeBufferPointer(start: text, count: count), as: UTF8.self))
      }
    }

    private var fault: SessionServerError {
      switch sqlite3_errcode(handle) {
      case SQLITE_NOTADB, SQLITE_CORRUPT: .badStateFile(path: path)
      default: .state(path: path, reason: String(cString: sqlite3_errmsg(handle)))
      }
    }
  }
}

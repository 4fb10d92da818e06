import OpenTokProtocol

/// What outlives the server, but media and certificates: `otchat.db` in its state directory.
extension Database {
  static let fileName = "otchat.db"

  /// The records are documents (`Room.record`, `Archive.record`): they are read and written whole, and nobody asks
  /// for their parts. Never change a step that has been released: add one.
  static let migrations = [
    """
    CREATE TABLE project (id INTEGER PRIMARY KEY CHECK (id = 1), api_key TEXT NOT NULL, api_secret TEXT NOT NULL);
    CREATE TABLE session (id TEXT PRIMARY KEY, record TEXT NOT NULL) WITHOUT ROWID;
    CREATE TABLE archive (id TEXT PRIMARY KEY, record TEXT NOT NULL) WITHOUT ROWID;
    """
  ]

  /// Makes the directory if need be.
  convenience init(stateDirectory path: String) throws(SessionServerError) {
    try self.init(path: StateDirectory(path: path).file(Self.fileName), migrations: Self.migrations)
  }
}

extension Database.Value {
  static func record(_ json: JSON) -> Self { .text(String(decoding: json.serialized(), as: UTF8.self)) }

  /// Nil if it is no JSON.
  var record: JSON? { text.flatMap { try? JSON(parsing: Array($0.utf8)) } }
}

import Glibc
import OpenTokProtocol
import TestSupport
import Testing

@testable import SessionServer

@Suite struct DatabaseTests {
  private static let first = "CREATE TABLE note (id INTEGER PRIMARY KEY, body TEXT)"

  private func notes(_ database: Database) throws -> [[Database.Value?]] {
    try database.transaction { (connection) throws(SessionServerError) in
      try connection.rows("SELECT id, body FROM note ORDER BY id")
    }
  }

  @Test func whatWasWrittenIsThereForTheNext() throws {
    let directory = TemporaryDirectory()
    let path = directory.path + "/x.db"
    let text = "Grüße, \u{0} and a quote '"
    do {
      let database = try Database(path: path, migrations: [Self.first])
      try database.transaction { (connection) throws(SessionServerError) in
        try connection.run("INSERT INTO note VALUES (?, ?)", .integer(7), .text(text))
        try connection.run("INSERT INTO note (id) VALUES (?)", .integer(8))
      }
    }
    let notes = try notes(Database(path: path, migrations: [Self.first]))
    #expect(notes == [[.integer(7), .text(text)], [.integer(8), nil]])
  }

  /// A log beside the database shows that it is write-ahead; both are their owner's alone.
  @Test func onlyItsOwnerReadsIt() throws {
    let directory = TemporaryDirectory()
    let database = try Database(path: directory.path + "/x.db", migrations: [Self.first])
    for suffix in ["", "-wal", "-shm"] {
      var status = stat()
      #expect(stat(database.path + suffix, &status) == 0 && status.st_mode & 0o777 == 0o600, "\(suffix)")
    }
  }

  @Test func aTransactionThatFailsLeavesNothing() throws {
    let directory = TemporaryDirectory()
    let database = try Database(path: directory.path + "/x.db", migrations: [Self.first])
    let fault = SessionServerError.state(path: database.path, reason: "UNIQUE constraint failed: note.id")
    #expect(throws: fault) {
      try database.transaction { (connection) throws(SessionServerError) in
        try connection.run("INSERT INTO note VALUES (1, 'a')")
        try connection.run("INSERT INTO note VALUES (1, 'b')")
      }
    }
    #expect(try notes(database) == [])
  }

  @Test func anOlderOneIsBroughtToTheNewestVersion() throws {
    let directory = TemporaryDirectory()
    let path = directory.path + "/x.db"
    do {
      let database = try Database(path: path, migrations: [Self.first])
      try database.transaction { (connection) throws(SessionServerError) in
        try connection.run("INSERT INTO note VALUES (1, 'a')")
      }
    }
    let steps = [
      Self.first,
      "ALTER TABLE note ADD COLUMN mark TEXT NOT NULL DEFAULT 'new'; DELETE FROM note WHERE id > 1",
    ]
    for _ in 0..<2 {
      let database = try Database(path: path, migrations: steps)
      let rows = try database.transaction { (connection) throws(SessionServerError) in
        try connection.rows("SELECT mark FROM note")
      }
      #expect(rows == [[.text("new")]])
    }
    #expect(throws: SessionServerError.newerState(path: path)) {
      try Database(path: path, migrations: [Self.first])
    }
    // A step that fails leaves the version before, whole.
    #expect(throws: SessionServerError.self) {
      try Database(path: path, migrations: steps + ["CREATE TABLE other (id); CREATE TABLE note (id)"])
    }
    let third = try Database(path: path, migrations: steps + ["CREATE TABLE other (id)"])
    #expect(try notes(third) == [[.integer(1), .text("a")]])
  }

  @Test func saysWhatIsWrong() throws {
    let directory = TemporaryDirectory()
    let path = directory.path + "/x.db"
    _ = try StateDirectory(path: directory.path).write("x.db", Array("this is no database, I am afraid".utf8))
    #expect(throws: SessionServerError.badStateFile(path: path)) { try Database(path: path, migrations: []) }
    unlink(path)
    #expect(mkdir(path, 0o700) == 0)
    #expect(throws: SessionServerError.state(path: path, reason: "unable to open database file")) {
      try Database(path: path, migrations: [])
    }
    let lost = directory.path + "/none/x.db"
    #expect(throws: SessionServerError.state(path: lost, reason: "No such file or directory")) {
      try Database(path: lost, migrations: [])
    }
  }
}

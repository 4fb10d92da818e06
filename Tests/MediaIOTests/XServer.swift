import CXCB
import Foundation
import Testing

@testable import MediaIO

/// An X server without a screen, which ends with its last client.
final class XServer {
  let display: String
  private let process: Process
  /// Its first client. Others come and go: every test may look at all servers that there are.
  private var keeper: XConnection?

  static var isInstalled: Bool {
    ["/usr/bin/Xvfb", "/usr/bin/xsetroot"].allSatisfy { FileManager.default.isExecutableFile(atPath: $0) }
  }

  init() throws {
    // Somebody else's first client may have been the last one, too.
    for _ in 0..<10 {
      let (process, display) = try Self.start()
      guard let keeper = XConnection(display) else { continue }
      (self.process, self.display, self.keeper) = (process, display, keeper)
      return
    }
    throw SourceError.noDevice(.screen, name: nil, choices: [])
  }

  private static func start() throws -> (Process, String) {
    let process = Process()
    let numbers = Pipe()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/Xvfb")
    process.arguments = ["-displayfd", "1", "-screen", "0", "320x240x24", "-nolisten", "tcp", "-terminate"]
    process.standardOutput = numbers
    process.standardError = FileHandle.nullDevice
    try process.run()
    // The number, as soon as it can be used.
    var text = ""
    while !text.hasSuffix("\n") {
      let data = numbers.fileHandleForReading.availableData
      guard !data.isEmpty else { break }
      text += String(decoding: data, as: UTF8.self)
    }
    return (process, ":" + text.trimmingCharacters(in: .whitespacesAndNewlines))
  }

  func fill(_ color: String) throws {
    let painter = Process()
    painter.executableURL = URL(fileURLWithPath: "/usr/bin/xsetroot")
    painter.arguments = ["-display", display, "-solid", color]
    try painter.run()
    painter.waitUntilExit()
    #expect(painter.terminationStatus == 0)
  }

  var isRunning: Bool { process.isRunning }

  /// It answers nobody until `goOn`.
  func stop() { kill(process.processIdentifier, SIGSTOP) }
  func goOn() { kill(process.processIdentifier, SIGCONT) }

  /// It ends when the last client has gone.
  func leave() { keeper = nil }
}

/// A program with windows of one colour each.
final class XClient {
  let connection: XConnection

  init(_ server: XServer) throws { connection = try #require(XConnection(server.display)) }

  /// Returns when the server has done all that it was told.
  func finish() { _ = connection.ask(OTCHAT_X_CORE, 43) }

  /// - Parameter parent: nil: the root window.
  func window(
    _ title: String, x: Int, y: Int, width: Int, height: Int, color: UInt32, parent: UInt32? = nil
  ) -> UInt32 {
    let window = connection.newIdentifier()
    let backgroundPixel: UInt32 = 1 << 1
    connection.tell(
      OTCHAT_X_CORE, 1,
      [
        window, parent ?? connection.root.window, Self.pair(x, y), Self.pair(width, height), Self.pair(0, 1),
        0,
        backgroundPixel, color,
      ])
    rename(window, title)
    map(window)
    return window
  }

  func rename(_ window: UInt32, _ title: String) {
    let (wmName, string): (UInt32, UInt32) = (39, 31)
    connection.tell(
      OTCHAT_X_CORE, 18, [window, wmName, string, 8, UInt32(title.utf8.count)] + Self.words(title))
    finish()
  }

  func map(_ window: UInt32) {
    connection.tell(OTCHAT_X_CORE, 8, [window])
    finish()
  }

  func paint(_ window: UInt32, _ color: UInt32) {
    connection.tell(OTCHAT_X_CORE, 2, [window, 1 << 1, color])
    connection.tell(OTCHAT_X_CORE, 61, [window, 0, 0])
    finish()
  }

  func resize(_ window: UInt32, width: Int, height: Int) {
    connection.tell(OTCHAT_X_CORE, 12, [window, 1 << 2 | 1 << 3, UInt32(width), UInt32(height)])
    finish()
  }

  func unmap(_ window: UInt32) {
    connection.tell(OTCHAT_X_CORE, 10, [window])
    finish()
  }

  func destroy(_ window: UInt32) {
    connection.tell(OTCHAT_X_CORE, 4, [window])
    finish()
  }

  /// Gives a window a black pointer, and puts it there, in its coordinates.
  func point(_ window: UInt32, x: Int, y: Int) {
    let (font, cursor) = (connection.newIdentifier(), connection.newIdentifier())
    connection.tell(OTCHAT_X_CORE, 45, [font, 6] + Self.words("cursor"))
    // A filled square (XC_dotbox), black in black.
    connection.tell(OTCHAT_X_CORE, 94, [cursor, font, font, Self.pair(40, 40), 0, 0, 0])
    connection.tell(OTCHAT_X_CORE, 2, [window, 1 << 14, cursor])
    connection.tell(OTCHAT_X_CORE, 41, [0, window, 0, 0, Self.pair(x, y)])
    finish()
  }

  /// Has a part of the screen be a monitor (RandR).
  func monitor(_ name: String, x: Int, y: Int, width: Int, height: Int) throws {
    _ = connection.ask(OTCHAT_X_RANDR, 0, [1, 5])
    let atom = try #require(
      connection.ask(OTCHAT_X_CORE, 16, [UInt32(name.utf8.count)] + Self.words(name)))
    connection.tell(
      OTCHAT_X_RANDR, 43,
      [connection.root.window, atom.word(8), 0, Self.pair(x, y), Self.pair(width, height), 100, 100])
    finish()
  }

  func removeMonitor(_ name: String) throws {
    let atom = try #require(
      connection.ask(OTCHAT_X_CORE, 16, [UInt32(name.utf8.count)] + Self.words(name)))
    connection.tell(OTCHAT_X_RANDR, 44, [connection.root.window, atom.word(8)])
    finish()
  }

  private static func pair(_ first: Int, _ second: Int) -> UInt32 { UInt32(first) | UInt32(second) << 16 }

  private static func words(_ text: String) -> [UInt32] {
    let bytes = Array(text.utf8)
    return stride(from: 0, to: bytes.count, by: 4).map { start in
      bytes[start..<min(start + 4, bytes.count)].reversed().reduce(0) { $0 << 8 | UInt32($1) }
    }
  }
}

import Base
import CXCB
import Glibc

/// A connection to an X11 server: requests, answers and events as the protocols define them. Confined to one thread.
///
/// An answer that does not come is nil, whatever the reason: what was asked for may have gone meanwhile.
final class XConnection {
  /// An answer or an event. What lies behind its end is 0.
  final class Message {
    private let bytes: UnsafeMutableRawPointer
    private let count: Int

    fileprivate init(_ bytes: UnsafeMutableRawPointer) {
      self.bytes = bytes
      // Answers say by how much they are longer; only they are of type 1.
      let more = bytes.load(as: UInt8.self) == 1 ? Int(bytes.load(fromByteOffset: 4, as: UInt32.self)) : 0
      count = 32 + more * 4
    }

    deinit { free(bytes) }

    func value<Value: FixedWidthInteger & BitwiseCopyable>(_ offset: Int, as: Value.Type) -> Value {
      guard offset >= 0, offset + MemoryLayout<Value>.size <= count else { return 0 }
      return bytes.loadUnaligned(fromByteOffset: offset, as: Value.self)
    }

    func byte(_ offset: Int) -> Int { Int(value(offset, as: UInt8.self)) }
    func short(_ offset: Int) -> Int { Int(value(offset, as: UInt16.self)) }
    func signedShort(_ offset: Int) -> Int { Int(value(offset, as: Int16.self)) }
    func word(_ offset: Int) -> UInt32 { value(offset, as: UInt32.self) }

    /// As much of it as there is.
    func bytes(_ offset: Int, _ length: Int) -> UnsafeRawBufferPointer {
      let begin = min(max(offset, 0), count)
      return UnsafeRawBufferPointer(start: bytes + begin, count: min(max(length, 0), count - begin))
    }

    /// So many 32-bit words, which are the message's own; nil if there are fewer.
    func words(_ offset: Int, _ length: Int) -> UnsafeMutableBufferPointer<UInt32>? {
      guard offset >= 0, length >= 0, count - offset >= 4 * length else { return nil }
      return UnsafeMutableBufferPointer(
        start: (bytes + offset).assumingMemoryBound(to: UInt32.self), count: length)
    }

    /// Without what could steer a terminal.
    func text(_ offset: Int, _ length: Int) -> String {
      let text = String(decoding: bytes(offset, length), as: UTF8.self)
      return String(
        String.UnicodeScalarView(text.unicodeScalars.filter { $0.properties.generalCategory != .control }))
    }

    /// Of an event, without the mark of those that a client has sent.
    var kind: Int { byte(0) & 0x7F }
  }

  /// A screen's root window.
  struct Root {
    var window: UInt32
    var width: Int
    var height: Int
    var depth: Int
  }

  let root: Root
  /// Whether the root's points are 32-bit words of 8 bits red, green, blue, the lowest one last.
  let hasUsualPixels: Bool
  private let connection: OpaquePointer
  /// How long the server is waited for.
  private let patience: Duration
  /// It has been late, and is not asked any more.
  private var isLate = false

  /// Loads libxcb with the first screen; nil if that worked.
  static let libraryFault: String? = otchat_x_load().map { String(cString: $0) }

  /// - Parameters:
  ///   - display: as in `DISPLAY`.
  ///   - patience: a server that takes longer for an answer is taken for dead.
  /// - Returns: nil if there is none, if it lets nobody in, if it does not answer, or for want of the library.
  init?(_ display: String, patience: Duration = .seconds(10)) {
    guard Self.libraryFault == nil, let opened = Opening.open(display, patience) else { return nil }
    guard !otchat_x_failed(opened.connection), let setup = otchat_x_setup(opened.connection),
      let found = Self.root(setup, Int(opened.screen))
    else {
      otchat_x_close(opened.connection)
      return nil
    }
    connection = opened.connection
    self.patience = patience
    (root, hasUsualPixels) = found
    // From here on `deinit` closes it.
    otchat_x_ask_for_extensions(connection)
    if ask(OTCHAT_X_CORE, 43) == nil { return nil }
  }

  deinit { otchat_x_close(connection) }

  /// libxcb waits for the server's first words without a limit, so that is done aside.
  private final class Opening: Sendable {
    struct Opened: @unchecked Sendable {
      // Safe to send: whoever is given the connection is the only one who has it.
      let connection: OpaquePointer
      let screen: Int32
    }

    private struct State {
      var opened: Opened?
      var isGivenUp = false
    }

    private let state = Lock(State())
    private let ready = Semaphore()

    static func open(_ display: String, _ patience: Duration) -> Opened? {
      let opening = Opening()
      guard (try? MediaThread.start(name: "screen", { opening.run(display) })) != nil else { return nil }
      _ = opening.ready.wait(until: MonotonicClock.now() + patience)
      return opening.state.withLock { state in
        state.isGivenUp = true
        return state.opened
      }
    }

    private func run(_ display: String) {
      var screen: Int32 = 0
      let opened = otchat_x_open(display, &screen).map { Opened(connection: $0, screen: screen) }
      let isGivenUp = state.withLock { state in
        if !state.isGivenUp { state.opened = opened }
        return state.isGivenUp
      }
      if isGivenUp, let opened { otchat_x_close(opened.connection) }
      ready.post()
    }
  }

  /// Reads what the server says of itself at the beginning. The library has checked its length.
  private static func root(_ setup: UnsafeRawPointer, _ number: Int) -> (Root, Bool)? {
    func byte(_ offset: Int) -> Int { Int(setup.load(fromByteOffset: offset, as: UInt8.self)) }
    func short(_ offset: Int) -> Int { Int(setup.loadUnaligned(fromByteOffset: offset, as: UInt16.self)) }
    let end = 8 + 4 * short(6)
    let isLittleEndian = byte(30) == 0
    var offset = 40 + (short(24) + 3) / 4 * 4
    var bits: [Int: Int] = [:]
    for _ in 0..<byte(29) where offset + 8 <= end {
      bits[byte(offset)] = byte(offset + 1)
      offset += 8
    }
    for screen in 0..<byte(28) where offset + 40 <= end {
      let window = setup.loadUnaligned(fromByteOffset: offset, as: UInt32.self)
      let depth = byte(offset + 38)
      if screen == number {
        let isUsual = isLittleEndian && (depth == 24 || depth == 32) && bits[depth] == 32
        return (
          Root(window: window, width: short(offset + 20), height: short(offset + 22), depth: depth), isUsual
        )
      }
      let depths = byte(offset + 39)
      offset += 40
      for _ in 0..<depths where offset + 8 <= end { offset += 8 + 24 * short(offset + 2) }
    }
    return nil
  }

  var hasFailed: Bool { isLate || otchat_x_failed(connection) }

  /// Its socket, which belongs to libxcb.
  var descriptor: Int32 { otchat_x_descriptor(connection) }

  func newIdentifier() -> UInt32 { otchat_x_new_identifier(connection) }

  /// Number of its first event; nil if the server has not got the extension.
  func firstEvent(_ extension: otchat_x_extension) -> Int? {
    let number = otchat_x_first_event(connection, `extension`)
    return number < 0 ? nil : Int(number)
  }

  /// Sends a request that is answered, and waits for that.
  func ask(
    _ extension: otchat_x_extension, _ opcode: UInt8, data: UInt8 = 0, _ body: [UInt32] = []
  ) -> Message? {
    guard !isLate else { return nil }
    let request = otchat_x_request(connection, `extension`, opcode, data, body, body.count, true)
    let milliseconds = Int32(clamping: patience.nanoseconds / 1_000_000)
    return otchat_x_answer(connection, request, milliseconds, &isLate).map(Message.init)
  }

  /// Sends a request that is not answered. It goes out with the next that is, or with `nextEvent`.
  func tell(_ extension: otchat_x_extension, _ opcode: UInt8, data: UInt8 = 0, _ body: [UInt32] = []) {
    _ = otchat_x_request(connection, `extension`, opcode, data, body, body.count, false)
  }

  /// The next that has come.
  func nextEvent() -> Message? { otchat_x_event(connection).map(Message.init) }
}

import CXCB
import Glibc

/// Where an X11 server leaves pictures: memory that both share, or, where that cannot be, an answer through the
/// socket. Confined to one thread.
final class ScreenImage {
  private let connection: XConnection
  private var shared: SharedMemory?
  private var cannotShare = false
  /// Keeps what came through the socket.
  private var answer: XConnection.Message?

  init(_ connection: XConnection) { self.connection = connection }

  private final class SharedMemory {
    let segment: UInt32
    let bytes: UnsafeMutableRawPointer
    let count: Int
    private let connection: XConnection

    init?(_ connection: XConnection, count: Int) {
      let identifier = shmget(IPC_PRIVATE, count, IPC_CREAT | 0o600)
      guard identifier >= 0 else { return nil }
      // It goes with the last of both who lets go of it.
      defer { shmctl(identifier, IPC_RMID, nil) }
      guard let bytes = shmat(identifier, nil, 0), Int(bitPattern: bytes) != -1 else { return nil }
      self.connection = connection
      self.bytes = bytes
      self.count = count
      segment = connection.newIdentifier()
      connection.tell(OTCHAT_X_SHM, 1, [segment, UInt32(identifier), 0])
      // Answered when that is done (GetInputFocus).
      _ = connection.ask(OTCHAT_X_CORE, 43)
    }

    deinit {
      connection.tell(OTCHAT_X_SHM, 2, [segment])
      shmdt(bytes)
    }
  }

  /// Copies a part of a window or pixmap.
  /// - Returns: 32 bits a point, rows without gaps, valid until the next call, and may be written to; nil if the
  ///   server refuses.
  func take(_ drawable: UInt32, _ place: XConnection.Place) -> UnsafeMutableBufferPointer<UInt32>? {
    let count = place.width * place.height
    let area = [
      Self.pair(place.x, place.y), Self.pair(place.width, place.height), UInt32.max,
    ]
    if let shared = memory(count * 4) {
      if connection.ask(OTCHAT_X_SHM, 4, [drawable] + area + [2, shared.segment, 0]) != nil {
        return UnsafeMutableBufferPointer(
          start: shared.bytes.assumingMemoryBound(to: UInt32.self), count: count)
      }
    }
    guard let answer = connection.ask(OTCHAT_X_CORE, 73, data: 2, [drawable] + area) else { return nil }
    // The server is somewhere else, or somebody else's.
    if shared != nil { cannotShare = true }
    shared = nil
    self.answer = answer
    return answer.words(32, count)
  }

  private func memory(_ count: Int) -> SharedMemory? {
    guard !cannotShare, connection.firstEvent(OTCHAT_X_SHM) != nil else { return nil }
    if let shared, shared.count >= count { return shared }
    shared = nil
    shared = SharedMemory(connection, count: count)
    return shared
  }

  /// Two numbers of 16 bits, as they follow each other in a request.
  private static func pair(_ first: Int, _ second: Int) -> UInt32 {
    UInt32(UInt16(truncatingIfNeeded: first)) | UInt32(UInt16(truncatingIfNeeded: second)) << 16
  }
}

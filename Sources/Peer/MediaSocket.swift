import Base
import CLinux
import Glibc

/// Carries media past libnice: a second socket on the port of the selected path, to which the kernel hands
/// what begins like DTLS, RTP or RTCP, many datagrams a system call, while STUN goes on to libnice's.
///
/// For UDP without a relay, on systems whose kernel can do it. Without one everything goes through libnice.
@NetworkActor
final class MediaSocket {
  /// The other end of a path.
  struct Destination {
    fileprivate(set) var storage = sockaddr_storage()
    fileprivate(set) var address = otchat_address()

    /// - Parameter fill: writes a `struct sockaddr`.
    init(_ fill: (UnsafeMutableRawPointer) -> Void) {
      withUnsafeMutableBytes(of: &storage) { bytes in
        guard let base = bytes.baseAddress else { return }
        fill(base)
        address = otchat_address_of(base)
      }
    }
  }

  /// One for all: it is emptied before anything else is done.
  private static let inbox = Inbox()
  private struct Inbox {
    let pointer = otchat_inbox_new()
  }

  private let destination: Destination
  /// A copy of the destination's `struct sockaddr`, which stays where it is.
  private let target: UnsafeMutablePointer<sockaddr_storage>
  private var descriptor: Int32
  private let isKnown: (otchat_address) -> Bool
  private let received: (UnsafeMutableRawBufferPointer, Instant) -> Void
  private let drained: (Instant) -> Void
  private var source: DescriptorSource?
  /// The last address beside the destination that datagrams were taken from: the other side may use another
  /// path than we do.
  private var other: otchat_address?

  /// - Parameters:
  ///   - first: libnice's socket.
  ///   - isKnown: whether the other side has said that it has this address.
  ///   - received: called with each datagram; its memory may be written to and is valid during the call only.
  ///   - drained: called after the last of those that were there at a time.
  init?(
    beside first: Int32, to destination: Destination, isKnown: @escaping (otchat_address) -> Bool,
    received: @escaping (UnsafeMutableRawBufferPointer, Instant) -> Void,
    drained: @escaping (Instant) -> Void
  ) {
    descriptor = otchat_media_socket(first)
    guard descriptor >= 0 else { return nil }
    self.destination = destination
    target = .allocate(capacity: 1)
    target.initialize(to: destination.storage)
    self.isKnown = isKnown
    self.received = received
    self.drained = drained
    source = DescriptorSource(descriptor) { [weak self] in self?.receive() }
  }

  isolated deinit {
    close()
    target.deallocate()
  }

  /// From now on all arrives at libnice's socket again.
  func close() {
    guard descriptor >= 0 else { return }
    source?.close()
    source = nil
    Glibc.close(descriptor)
    descriptor = -1
  }

  /// Sends one datagram without blocking; false if that cannot be.
  func send(_ datagram: UnsafeRawBufferPointer) -> Bool {
    otchat_send(descriptor, datagram.baseAddress, Int32(clamping: datagram.count), target)
  }

  private func receive() {
    let inbox = Self.inbox.pointer
    let now = MonotonicClock.now()
    let count = otchat_inbox_receive(inbox, descriptor)
    for index in 0..<count where descriptor >= 0 {
      var size: Int32 = 0
      var from = otchat_address()
      let bytes = otchat_inbox_datagram(inbox, index, &size, &from)
      guard accepts(from) else { continue }
      received(UnsafeMutableRawBufferPointer(start: bytes, count: Int(size)), now)
    }
    if count > 0, descriptor >= 0 { drained(now) }
  }

  private func accepts(_ from: otchat_address) -> Bool {
    if from == destination.address || from == other { return true }
    guard isKnown(from) else { return false }
    other = from
    return true
  }
}

extension otchat_address: @retroactive Equatable {
  public static func == (left: otchat_address, right: otchat_address) -> Bool {
    left.low == right.low && left.high == right.high && left.port == right.port && left.family == right.family
  }
}

import Base
import Codecs
import FoundationEssentials
import Glibc
import MediaIO

/// One received picture in a file: `--snapshot FILE.png [--after SECONDS]`.
final class Snapshot: Sendable {
  private let path: String
  private let delay: Duration
  private let newest = Lock<VideoFrame?>(nil)
  /// Whether nobody waits for pictures any more.
  private let isTaken = Lock(false)
  private let arrival: AsyncStream<Void>
  private let arrived: AsyncStream<Void>.Continuation

  /// - Parameter delay: from the first picture on.
  /// - Throws: `Failure` 73 if the file cannot be written, as far as that can be told before.
  init(path: String, delay: Duration) throws {
    self.path = path
    self.delay = delay
    (arrival, arrived) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    let folder = URL(fileURLWithPath: path).deletingLastPathComponent().path
    var information = stat()
    if stat(path, &information) == 0 {
      if information.st_mode & S_IFMT == S_IFDIR { throw Failure(lost: EISDIR, of: path) }
      if access(path, W_OK) != 0 { throw Failure(lost: errno, of: path) }
    } else if access(folder, W_OK | X_OK) != 0 {
      throw Failure(lost: errno, of: path)
    }
  }

  /// Passes pictures on to `next` and keeps the newest.
  func renderer(before next: (any VideoSink)?) -> any VideoSink { Tap(snapshot: self, next: next) }

  private struct Tap: VideoSink {
    let snapshot: Snapshot
    let next: (any VideoSink)?

    func render(_ frame: VideoFrame) {
      snapshot.keep(frame)
      next?.render(frame)
    }
  }

  private func keep(_ frame: VideoFrame) {
    if isTaken.withLock({ $0 }) { return }
    let isFirst = newest.withLock { newest in
      defer { newest = frame }
      return newest == nil
    }
    if isFirst { arrived.yield() }
  }

  /// Waits for a picture and writes it. Cancelled, it gives up waiting.
  ///
  /// - Parameter limit: for the first picture.
  func take(within limit: Duration) async -> Result<Void, any Error> {
    defer { isTaken.withLock { $0 = true } }
    let isThere = await hasArrived(within: limit)
    if isThere { try? await Task.sleep(for: delay) }
    if Task.isCancelled {
      return .failure(Failure(.timedOut, "the call was over before a picture was taken: no \(path)"))
    }
    guard isThere, let frame = newest.withLock({ $0 }) else {
      return .failure(
        Failure(
          .timedOut, "no picture has come within \(Self.text(limit)) s: no \(path)",
          hint: "somebody has to send video: --subscribe says whose; --timeout SECONDS waits longer"))
    }
    return Result { try write(PNGImage.encode(frame)) }.mapError { error -> any Error in
      guard let error = error as? PNGError else { return error }
      return Failure(.internalError, "the picture cannot be made a PNG file: \(error)")
    }
  }

  private static func text(_ limit: Duration) -> String {
    let seconds = limit.seconds
    return seconds == seconds.rounded() ? "\(Int(seconds))" : "\(seconds)"
  }

  private func hasArrived(within limit: Duration) async -> Bool {
    await withTaskGroup(of: Bool.self) { group in
      group.addTask { [arrival] in
        for await _ in arrival { return true }
        return false
      }
      group.addTask {
        try? await Task.sleep(for: limit)
        return false
      }
      defer { group.cancelAll() }
      return await group.next() ?? false
    }
  }

  /// Whole or not at all: whoever waits for the file never sees half of it. What is no file (a pipe) is
  /// written to as it is.
  private func write(_ bytes: [UInt8]) throws {
    var information = stat()
    let isOther = stat(path, &information) == 0 && information.st_mode & S_IFMT != S_IFREG
    let target = isOther ? path : "\(path).\(getpid()).part"
    let descriptor = open(target, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o644)
    guard descriptor >= 0 else { throw Failure(lost: errno, of: path) }
    var fault = DescriptorOutput.write(bytes, to: descriptor) ?? 0
    if close(descriptor) != 0, fault == 0 { fault = errno }
    if !isOther, fault == 0, rename(target, path) != 0 { fault = errno }
    guard fault != 0 else { return }
    if !isOther { unlink(target) }
    throw Failure(lost: fault, of: path)
  }
}

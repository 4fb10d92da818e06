import Foundation
import OTKit
import Synchronization

/// Writes a stream's pictures in black and white to a file that players read (YUV4MPEG2), on a thread of its own:
/// the decoder has no time to wait for a disk.
final class MonoRenderer: VideoRenderer {
  private let waiting = Mutex<[Picture]>([])
  private let arrived = DispatchSemaphore(value: 0)

  init(path: String) throws {
    guard FileManager.default.createFile(atPath: path, contents: nil),
      let file = FileHandle(forWritingAtPath: path)
    else { throw CocoaError(.fileWriteUnknown) }
    Thread.detachNewThread { [self] in write(to: file) }
  }

  func renderVideoFrame(_ frame: Picture) {
    waiting.withLock { waiting in
      // A slow disk costs pictures, and neither memory nor time.
      if waiting.count == 5 { waiting.removeFirst() }
      waiting.append(frame)
    }
    arrived.signal()
  }

  private func write(to file: FileHandle) {
    var size: (width: Int, height: Int)?
    while true {
      arrived.wait()
      guard let picture = waiting.withLock({ $0.isEmpty ? nil : $0.removeFirst() }) else { continue }
      var bytes = Data()
      if size == nil {
        size = (picture.width, picture.height)
        bytes.append(contentsOf: "YUV4MPEG2 W\(picture.width) H\(picture.height) F30:1 C420jpeg\n".utf8)
      }
      // Such a file has one size; who sends may choose a smaller one while the network is slow.
      guard let size, size == (picture.width, picture.height) else { continue }
      bytes.append(contentsOf: "FRAME\n".utf8)
      picture.withPlanes { luma, u, v in
        for row in 0..<luma.height {
          bytes.append(contentsOf: luma.bytes[row * luma.stride..<row * luma.stride + luma.width])
        }
        // Chroma in the middle of its range is no colour.
        bytes.append(contentsOf: repeatElement(128, count: u.width * u.height + v.width * v.height))
      }
      try? file.write(contentsOf: bytes)
    }
  }
}

/// Saves the first stream of a session in black and white.
///
///     otchat serve &
///     swift run MonoRenderer http://127.0.0.1:8080 mono.y4m
///     ffplay mono.y4m
@main
struct Example {
  static func main() async throws {
    let arguments = CommandLine.arguments
    guard arguments.count == 3 else { return print("MonoRenderer SERVER FILE.y4m") }
    let renderer = try MonoRenderer(path: arguments[2])
    let credentials = try await Credentials.fetch(from: arguments[1])
    let session = Session(credentials)
    try await session.connect(token: credentials.token)

    var subscriber: Subscriber?
    for await event in session.events {
      print(event)
      switch event {
      case .streamCreated(let stream) where subscriber == nil && stream.hasVideo:
        subscriber = try await session.subscribe(to: stream)
        subscriber?.setVideoRenderer(renderer)
      case .streamDestroyed(let stream, _) where stream.id == subscriber?.streamID:
        subscriber = nil
      default:
        break
      }
    }
  }
}

import Base
import Codecs
import TestSupport
import Testing

@testable import MediaIO

@Suite struct ScreenSourceTests {
  /// Y, U and V at the picture's left quarter, where no cursor is.
  private func color(_ frame: VideoFrame) -> [Int] {
    let (x, y) = (frame.width / 8, frame.height / 8)
    let chroma = y / 2 * frame.strideUV + x / 2
    return [Int(frame.y[y * frame.strideY + x]), Int(frame.u[chroma]), Int(frame.v[chroma])]
  }

  private func isNear(_ color: [Int], _ expected: [Int]) -> Bool {
    zip(color, expected).allSatisfy { abs($0 - $1) <= 4 }
  }

  @Test(.enabled(if: XServer.isInstalled)) func whatIsOnTheScreenIsTaken() async throws {
    let server = try XServer()
    defer { server.leave() }
    let size = VideoSize(width: 640, height: 480)
    var source: ScreenSource! = try ScreenSource(server.display, size: size, frameRate: 30)
    try source.start(at: MonotonicClock.now())
    try server.fill("#2040c0")
    var last: VideoFrame?
    func take(until expected: [Int]) async throws {
      try await eventually("a picture of \(expected)", state: { last.map { "\(color($0))" } ?? "none" }) {
        if case .frame(let frame) = source.next(until: MonotonicClock.now() + .milliseconds(100)) {
          last = frame
        }
        return last.map { isNear(color($0), expected) } ?? false
      }
    }
    // BT.601, limited range.
    try await take(until: [75, 189, 105])
    #expect(last?.size == size)
    try server.fill("#ffffff")
    try await take(until: [235, 128, 128])
    // While nothing changes, there is next to nothing to encode.
    let changed = MonotonicClock.now()
    var still = 0
    try await eventually("a picture after three seconds") {
      guard case .frame(let frame) = source.next(until: MonotonicClock.now() + .milliseconds(100)) else {
        return false
      }
      if frame.time - changed < .seconds(3) { still += 1 }
      return frame.time - changed >= .seconds(3)
    }
    // A second at 15, and one a second from then on.
    #expect(still <= 15 + 1 + 3)
    #expect(Screens.list().contains { $0.selection == server.display })
    source.stop()
    source = nil
    server.leave()
    try await eventually("the server's end") { !server.isRunning }
  }

  @Test func whereThereIsNoneItIsSaid() {
    let size = VideoSize(width: 640, height: 480)
    let error = #expect(throws: SourceError.self) {
      _ = try ScreenSource(":4711", size: size, frameRate: 15)
    }
    #expect(error?.message == "there is no screen \":4711\"")
  }
}

import OpenTokProtocol
import SessionServer
import TestSupport
import Testing

/// Clients that do everything at the wrong time, and recorded ones whose frames are altered on the way.
struct RoomFuzzTests {
  private func operation(_ operation: RoomFuzzOperation, _ client: Int, _ rest: [UInt8] = []) -> [UInt8] {
    [operation.rawValue, UInt8(truncatingIfNeeded: client)] + rest
  }

  private func frame(_ client: Int, _ bytes: [UInt8]) -> [UInt8] {
    operation(
      .frame, client,
      [UInt8(truncatingIfNeeded: bytes.count >> 8), UInt8(truncatingIfNeeded: bytes.count)] + bytes)
  }

  @Test func recordedClientsWithAlteredFrames() throws {
    for (seed, trace) in try Trace.all().enumerated() {
      let frames = trace.lines.compactMap { line -> [UInt8]? in
        if case .frame(let frame) = line.content, line.isFromClient { frame.bytes } else { nil }
      }
      guard !frames.isEmpty else { continue }
      for round in 0..<2 {
        var mutator = Mutator(corpus: frames, seed: UInt64(seed * 10 + round))
        var script: [UInt8] = []
        for line in trace.lines {
          switch line.content {
          case .open(let path):
            script += operation(.open, line.socket % 2 + (path.contains("reconnect") ? 128 : 0))
          case .close(let code) where line.isFromClient:
            script += operation(.close, line.socket % 2, [UInt8(code >> 8), UInt8(code & 255)])
          case .frame(let recorded) where line.isFromClient:
            let isAltered = UInt8.random(in: 0..<10, using: &mutator.generator) == 0
            script += frame(line.socket % 2, isAltered ? mutator.next() : recorded.bytes)
          default: break
          }
        }
        script.withUnsafeBytes(fuzzRoom)
      }
    }
  }

  @Test func clientsThatDoAnythingAtAnyTime() {
    let joins = (0..<4).flatMap { operation(.open, $0) + operation(.join, $0, [UInt8($0)]) }
    let call =
      joins + operation(.request, 1, [0, 2, 1]) + operation(.request, 2, [0, 4, 0])
      + operation(.request, 1, [4, 4, 5]) + operation(.request, 2, [5, 4, 5])
      + operation(.close, 2, [3, 0xEE])
      + operation(.open, 130) + operation(.pass, 200) + operation(.act, 0, [1])
    var mutator = Mutator(corpus: [joins, call], seed: 9)
    mutator.run(300, fuzzRoom)
    var script = joins
    for _ in 0..<3000 {
      let random = (0..<4).map { _ in UInt8.random(in: 0...255, using: &mutator.generator) }
      switch random[0] {
      case 0..<20: script += operation(.open, Int(random[1]))
      case 20..<40: script += operation(.join, Int(random[1]), [random[2]])
      case 40..<50: script += operation(.close, Int(random[1]), [3, random[2]])
      case 50..<56: script += operation(.pass, Int(random[1] / 8))
      case 56..<70: script += operation(.act, 0, [random[1]])
      default: script += operation(.request, Int(random[1]), [random[2], random[3], random[0]])
      }
    }
    script.withUnsafeBytes(fuzzRoom)
  }
}

import Base

/// Alters inputs of a parser at random, repeatably: what a fuzzer does, for tests.
package struct Mutator {
  package var generator: SeededGenerator
  private let corpus: [[UInt8]]

  /// - Parameter corpus: good inputs; must not be empty.
  package init(corpus: [[UInt8]], seed: UInt64) {
    self.corpus = corpus
    generator = SeededGenerator(seed: seed)
  }

  /// One of the corpus, with a few alterations.
  package mutating func next() -> [UInt8] {
    var bytes = corpus[Int.random(in: corpus.indices, using: &generator)]
    for _ in 0..<Int.random(in: 1...4, using: &generator) { mutate(&bytes) }
    return bytes
  }

  /// Calls `body` with `count` altered inputs.
  package mutating func run(_ count: Int, _ body: (UnsafeRawBufferPointer) -> Void) {
    for _ in 0..<count { next().withUnsafeBytes(body) }
  }

  private mutating func mutate(_ bytes: inout [UInt8]) {
    guard !bytes.isEmpty else {
      bytes = [UInt8.random(in: 0...255, using: &generator)]
      return
    }
    let position = Int.random(in: bytes.indices, using: &generator)
    let end = min(bytes.count, position + Int.random(in: 1...16, using: &generator))
    switch Int.random(in: 0..<9, using: &generator) {
    case 0: bytes[position] ^= 1 << UInt8.random(in: 0...7, using: &generator)
    case 1:
      bytes[position] = [0, 1, 0x7F, 0x80, 0xFF, 0x0A, 0x20, 0x22].randomElement(using: &generator) ?? 0
    case 2: bytes[position] = UInt8.random(in: 0...255, using: &generator)
    case 3: bytes.removeSubrange(position..<end)
    case 4: bytes.removeSubrange(position...)
    case 5: bytes.insert(contentsOf: bytes[position..<end], at: position)
    case 6: insertWildText(at: position, in: &bytes)
    case 7:
      let other = corpus[Int.random(in: corpus.indices, using: &generator)]
      let from = Int.random(in: 0...other.count, using: &generator)
      bytes.replaceSubrange(position..., with: other[from...])
    default:
      let target = Int.random(in: bytes.indices, using: &generator)
      bytes.swapAt(position, target)
    }
  }

  private mutating func insertWildText(at position: Int, in bytes: inout [UInt8]) {
    let texts = [
      "-1", "0", "256", "65536", "4294967296", "9223372036854775808", "1e999", "-", "\r\n", "\n", "{", "[",
      "}",
      "\"", "\\u", "\\ud800", "~", "/", "//", ":", "=", "%", "\u{301}", "😀", "a=", "m=", "null",
    ]
    bytes.insert(contentsOf: (texts.randomElement(using: &generator) ?? "").utf8, at: position)
  }
}

import Base

/// Bytes from the terminal become keys: UTF-8, control characters, escape sequences (ECMA-48, 5.4, and what
/// xterm and its followers send), bracketed paste. Told the time: a lone Esc is a key when nothing follows.
package struct KeyDecoder: Sendable {
  /// How long a sequence may take to arrive; longer than any network's gap within one write.
  static let escapeTimeout = Duration.milliseconds(50)
  static let maximumSequence = 64
  static let maximumPaste = 64 * 1024
  /// An answer of the terminal may come in pieces; no key begins like one.
  static let answerTimeout = Duration.seconds(1)
  static let maximumString = 256

  private enum State {
    case ground
    case escape
    /// ESC O: one more byte.
    case singleShift
    /// ESC [ …: parameters and intermediates are in `pending`.
    case control
    /// ESC ] or ESC P …: a string up to BEL or ESC \, begun by this byte; its text is in `pending`.
    case string(UInt8, escaped: Bool)
    /// Its text is in `pending`, without the bytes of the end mark that have come.
    case paste(matched: Int)
    /// A UTF-8 sequence, begun in `pending`, with this many bytes to come.
    case utf8(missing: Int)
  }

  private var state = State.ground
  private var pending: [UInt8] = []
  private var lastByte: Instant = .zero

  package init() {}

  /// When `advance` has something to do; nil if nothing is pending.
  package var deadline: Instant? {
    switch state {
    case .ground, .paste: nil
    case .string(let kind, _) where TerminalAnswer.begins(kind, pending): lastByte + Self.answerTimeout
    default: lastByte + Self.escapeTimeout
    }
  }

  /// Takes in what was read.
  package mutating func decode(_ bytes: some Sequence<UInt8>, at now: Instant) -> [Key] {
    var keys = advance(to: now)
    lastByte = now
    for byte in bytes { take(byte, &keys) }
    return keys
  }

  /// Gives up waiting for the rest of a sequence.
  package mutating func advance(to now: Instant) -> [Key] {
    guard let deadline, now >= deadline else { return [] }
    defer { state = .ground }
    switch state {
    case .escape: return [.escape]
    case .singleShift: return [.alt("O")]
    case .control where pending.isEmpty: return [.alt("[")]
    default: return []
    }
  }

  private mutating func take(_ byte: UInt8, _ keys: inout [Key]) {
    switch state {
    case .ground: ground(byte, &keys)
    case .escape: escape(byte, &keys)
    case .singleShift:
      state = .ground
      if let key = Self.singleShiftKeys[byte] { keys.append(key) }
    case .control: control(byte, &keys)
    case .string(let kind, let escaped):
      if byte == 0x07 || (escaped && byte == 0x5C) {
        state = .ground
        if let answer = TerminalAnswer(string: kind, String(decoding: pending, as: UTF8.self)) {
          keys.append(.answer(answer))
        }
      } else {
        state = .string(kind, escaped: byte == 0x1B)
        if byte != 0x1B, pending.count < Self.maximumString { pending.append(byte) }
      }
    case .paste(let matched): paste(byte, matched, &keys)
    case .utf8(let missing): utf8(byte, missing, &keys)
    }
  }

  private mutating func ground(_ byte: UInt8, _ keys: inout [Key]) {
    switch byte {
    case 0x1B: state = .escape
    case 0x0D, 0x0A: keys.append(.enter)
    case 0x09: keys.append(.tab)
    case 0x7F, 0x08: keys.append(.backspace)
    case 0x01...0x1A: keys.append(.control(Character(Unicode.Scalar(byte + 0x60))))
    case 0x00, 0x1C...0x1F: break
    case 0x20..<0x7F: keys.append(.character(Character(Unicode.Scalar(byte))))
    case 0xC2...0xDF: begin(.utf8(missing: 1), byte)
    case 0xE0...0xEF: begin(.utf8(missing: 2), byte)
    case 0xF0...0xF4: begin(.utf8(missing: 3), byte)
    default: keys.append(.character("\u{FFFD}"))
    }
  }

  private mutating func begin(_ state: State, _ byte: UInt8? = nil) {
    self.state = state
    pending.removeAll(keepingCapacity: true)
    if let byte { pending.append(byte) }
  }

  private mutating func utf8(_ byte: UInt8, _ missing: Int, _ keys: inout [Key]) {
    guard byte & 0xC0 == 0x80 else {
      state = .ground
      keys.append(.character("\u{FFFD}"))
      return take(byte, &keys)
    }
    pending.append(byte)
    if missing > 1 {
      state = .utf8(missing: missing - 1)
      return
    }
    state = .ground
    keys.append(.character(String(validating: pending, as: UTF8.self)?.first ?? "\u{FFFD}"))
  }

  private mutating func escape(_ byte: UInt8, _ keys: inout [Key]) {
    switch byte {
    case 0x1B: keys.append(.escape)
    case 0x5B: begin(.control)
    case 0x4F: state = .singleShift
    case 0x50, 0x58, 0x5D, 0x5E, 0x5F: begin(.string(byte, escaped: false))
    case 0x21..<0x7F:
      state = .ground
      keys.append(.alt(Character(Unicode.Scalar(byte))))
    default:
      state = .ground
      keys.append(.escape)
      ground(byte, &keys)
    }
  }

  private mutating func control(_ byte: UInt8, _ keys: inout [Key]) {
    switch byte {
    case 0x20...0x3F:
      guard pending.count < Self.maximumSequence else {
        state = .ground
        return
      }
      pending.append(byte)
    case 0x40...0x7E:
      state = .ground
      finish(byte, String(decoding: pending, as: UTF8.self), &keys)
    case 0x1B: state = .escape
    default: state = .ground
    }
  }

  private mutating func finish(_ final: UInt8, _ parameters: String, _ keys: inout [Key]) {
    // A modifier (`1;5A`) is left out: an arrow is an arrow.
    let first = String(parameters.prefix { $0 != ";" })
    switch final {
    case 0x7E:
      if first == "200" {
        begin(.paste(matched: 0))
      } else if let key = Self.tildeKeys[first] {
        keys.append(key)
      }
    case 0x63, 0x6E, 0x74,
      0x53 where final != 0x53 || parameters.hasPrefix("?"):
      if let answer = TerminalAnswer(control: final, parameters) { keys.append(.answer(answer)) }
    case 0x5A: keys.append(.backTab)
    default:
      if let key = Self.singleShiftKeys[final], !parameters.hasPrefix("?") { keys.append(key) }
    }
  }

  /// Of a paste that is too long the beginning is kept; its end is found all the same.
  private mutating func paste(_ byte: UInt8, _ matched: Int, _ keys: inout [Key]) {
    if byte == Self.pasteEnd[matched] {
      state = .paste(matched: matched + 1)
      guard matched + 1 == Self.pasteEnd.count else { return }
      state = .ground
      keys.append(.paste(String(decoding: pending, as: UTF8.self)))
      return
    }
    pending.append(contentsOf: Self.pasteEnd[..<matched])
    let begins = byte == Self.pasteEnd[0]
    if !begins { pending.append(byte) }
    if pending.count > Self.maximumPaste { pending.removeLast(pending.count - Self.maximumPaste) }
    state = .paste(matched: begins ? 1 : 0)
  }

  private static let pasteEnd: [UInt8] = [0x1B, 0x5B, 0x32, 0x30, 0x31, 0x7E]

  private static let singleShiftKeys: [UInt8: Key] = [
    0x41: .up, 0x42: .down, 0x43: .right, 0x44: .left, 0x46: .end, 0x48: .home,
    0x50: .function(1), 0x51: .function(2), 0x52: .function(3), 0x53: .function(4),
  ]

  private static let tildeKeys: [String: Key] = [
    "1": .home, "2": .insert, "3": .delete, "4": .end, "5": .pageUp, "6": .pageDown, "7": .home, "8": .end,
    "11": .function(1), "12": .function(2), "13": .function(3), "14": .function(4), "15": .function(5),
    "17": .function(6), "18": .function(7), "19": .function(8), "20": .function(9), "21": .function(10),
    "23": .function(11), "24": .function(12),
  ]
}

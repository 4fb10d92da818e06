/// A size in pixels.
package struct CellSize: Hashable, Sendable {
  package var width: Int
  package var height: Int

  /// What most terminals have, for those that do not tell.
  package static let usual = CellSize(width: 10, height: 20)

  package init(width: Int, height: Int) {
    self.width = width
    self.height = height
  }

  /// Nil if no cell is of that size.
  init?(plausibleWidth width: Int, height: Int) {
    guard (2...200).contains(width), (4...400).contains(height), (1...4).contains(height / width) else {
      return nil
    }
    self.init(width: width, height: height)
  }

  /// Height over width.
  package var aspect: Double { Double(height) / Double(width) }
}

/// Something that the terminal says about itself.
package enum TerminalAnswer: Hashable, Sendable {
  /// Everything before the question is drawn (DSR 0).
  case ready
  /// Primary device attributes: what it is able to do. 4 is sixel.
  case attributes([Int])
  /// A cell's size in pixels (XTWINOPS 16).
  case cellSize(width: Int, height: Int)
  /// The window's size in pixels, without its borders (XTWINOPS 14).
  case windowSize(width: Int, height: Int)
  /// How many colours of sixel it keeps (XTSMGRAPHICS 1).
  case colorRegisters(Int)
  /// Whether it knows the kitty graphics protocol.
  case kittyGraphics(Bool)
  /// Whether it has 24-bit colours (XTGETTCAP RGB).
  case directColor(Bool)
  /// Its name and version (XTVERSION).
  case version(String)
}

extension TerminalAnswer {
  /// A control sequence (CSI).
  init?(control final: UInt8, _ parameters: String) {
    let isPrivate = parameters.hasPrefix("?")
    let numbers = parameters.drop { $0 == "?" }.split(separator: ";").map { Int($0) ?? 0 }
    switch final {
    case 0x6E where parameters == "0": self = .ready
    case 0x63 where isPrivate: self = .attributes(numbers)
    case 0x53 where isPrivate && numbers.count == 3 && numbers[0] == 1 && numbers[1] == 0:
      self = .colorRegisters(numbers[2])
    case 0x74 where !isPrivate && numbers.count == 3 && numbers[0] == 6:
      self = .cellSize(width: numbers[2], height: numbers[1])
    case 0x74 where !isPrivate && numbers.count == 3 && numbers[0] == 4:
      self = .windowSize(width: numbers[2], height: numbers[1])
    default: return nil
    }
  }

  /// A control string.
  ///
  /// - Parameter kind: P is a DCS, _ an APC, ] an OSC.
  init?(string kind: UInt8, _ text: String) {
    switch kind {
    case 0x50 where text.hasPrefix(">|"): self = .version(String(text.dropFirst(2)))
    case 0x50 where text.hasPrefix("1+r524742"): self = .directColor(true)
    case 0x50 where text.hasPrefix("0+r"): self = .directColor(false)
    case 0x5F where text.hasPrefix("Gi=\(KittyGraphics.questionID);"):
      self = .kittyGraphics(text.hasSuffix(";OK"))
    default: return nil
    }
  }

  /// Whether what has come of a control string is the beginning of an answer.
  static func begins(_ kind: UInt8, _ bytes: [UInt8]) -> Bool {
    switch kind {
    case 0x50: bytes.starts(with: [0x3E, 0x7C]) || bytes.dropFirst().starts(with: [0x2B, 0x72])
    case 0x5F: bytes.first == 0x47
    default: false
    }
  }
}

/// All that the terminal has said. It may answer late, in part, or never.
struct TerminalAnswers: Equatable, Sendable {
  private(set) var attributes: [Int]?
  private(set) var kittyGraphics = false
  private(set) var directColor = false
  private(set) var colorRegisters: Int?
  private(set) var version: String?
  private var cell: CellSize?
  private var window: (width: Int, height: Int)?

  static func == (left: TerminalAnswers, right: TerminalAnswers) -> Bool {
    left.attributes == right.attributes && left.kittyGraphics == right.kittyGraphics
      && left.directColor == right.directColor && left.colorRegisters == right.colorRegisters
      && left.version == right.version && left.cell == right.cell
      && left.window.map { [$0.width, $0.height] } == right.window.map { [$0.width, $0.height] }
  }

  /// Asks for the sizes in pixels, which change with the font.
  static let sizeQuestions = "\u{1B}[14t\u{1B}[16t"

  /// What is asked at the beginning. Every terminal answers the last question, so then all answers are there.
  static func questions(for capabilities: TerminalCapabilities) -> String {
    guard capabilities.answers else { return "" }
    // A multiplexer would take kitty's question for the window's title, and draws no such pictures.
    let kitty = capabilities.isMultiplexed ? "" : KittyGraphics.question
    let direct = capabilities.isMultiplexed ? "" : "\u{1B}P+q524742\u{1B}\\"
    return kitty + direct + "\u{1B}[>q" + sizeQuestions + "\u{1B}[?1;1;0S\u{1B}[c"
  }

  /// Whether the last question has been answered.
  var isComplete: Bool { attributes != nil }

  mutating func take(_ answer: TerminalAnswer) {
    switch answer {
    case .ready: break
    case .attributes(let attributes): self.attributes = attributes
    case .cellSize(let width, let height):
      cell = CellSize(plausibleWidth: width, height: height) ?? cell
    case .windowSize(let width, let height): window = (width, height)
    case .colorRegisters(let count): colorRegisters = count
    case .kittyGraphics(let known): kittyGraphics = known
    case .directColor(let known): directColor = known
    case .version(let text): version = text
    }
  }

  /// A cell's size in pixels, as far as the terminal has told it.
  func cell(columns: Int, rows: Int) -> CellSize? {
    if let cell { return cell }
    guard let window, columns > 0, rows > 0 else { return nil }
    return CellSize(plausibleWidth: window.width / columns, height: window.height / rows)
  }

  /// How pictures are drawn if nobody says how.
  func style(for capabilities: TerminalCapabilities) -> PictureStyle {
    if capabilities.colors != .none {
      if kittyGraphics && !capabilities.isMultiplexed { return .kitty }
      // It has sixels, too, but those have fewer colours.
      if version?.hasPrefix("iTerm2") ?? false, !capabilities.isMultiplexed { return .iterm2 }
      if attributes?.contains(4) ?? false { return .sixel }
    }
    return capabilities.unicode ? .symbols : .ascii
  }

  func colors(_ capabilities: TerminalCapabilities) -> ColorDepth {
    directColor && capabilities.colors != .none ? .trueColor : capabilities.colors
  }
}

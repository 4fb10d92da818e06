/// Pictures as sixel graphics (DEC STD 070; the VT340's manual, chapter 14).
///
/// A fixed palette with ordered dithering: a palette made for each picture, as libchafa makes one, takes
/// 110 ms at 800x640, and its colours flicker. Keeps its memory between pictures.
struct SixelEncoder {
  /// Levels of each channel.
  private let levels: (red: Int, green: Int, blue: Int)
  private var masks: [UInt8] = []
  private var isUsed: [Bool]
  private var output: [UInt8] = []

  /// - Parameter registers: how many colours the terminal keeps, 16 at least.
  init(registers: Int = 256) {
    levels = registers >= 252 ? (6, 7, 6) : registers >= 64 ? (4, 4, 4) : (2, 4, 2)
    isUsed = Array(repeating: false, count: levels.red * levels.green * levels.blue)
  }

  /// Thresholds of 4x4 ordered dithering (Bayer), 0–15.
  private static let thresholds = [0, 8, 2, 10, 12, 4, 14, 6, 3, 11, 1, 9, 15, 7, 13, 5]

  /// From the introducer (DCS) to the terminator (ST); drawn from the cursor on, pixels square.
  mutating func encode(_ picture: RGBPicture) -> [UInt8] {
    output.removeAll(keepingCapacity: true)
    append("\u{1B}P0;1;0q\"1;1;\(picture.width);\(picture.height)")
    definePalette()
    if masks.count < isUsed.count * picture.width {
      masks = Array(repeating: 0, count: isUsed.count * picture.width)
    }
    for top in stride(from: 0, to: picture.height, by: 6) {
      let used = takeBand(picture, top: top)
      for (position, color) in used.enumerated() {
        if position > 0 { output.append(0x24) }
        output.append(0x23)
        append(number: color)
        let line = color * picture.width..<(color + 1) * picture.width
        masks.withUnsafeMutableBufferPointer {
          Self.put(UnsafeMutableBufferPointer(rebasing: $0[line]), &output)
        }
        isUsed[color] = false
      }
      output.append(0x2D)
    }
    append("\u{1B}\\")
    return output
  }

  private mutating func definePalette() {
    for red in 0..<levels.red {
      for green in 0..<levels.green {
        for blue in 0..<levels.blue {
          output.append(0x23)
          append(number: (red * levels.green + green) * levels.blue + blue)
          append(";2;")
          // In percent.
          append(number: red * 100 / (levels.red - 1))
          output.append(0x3B)
          append(number: green * 100 / (levels.green - 1))
          output.append(0x3B)
          append(number: blue * 100 / (levels.blue - 1))
        }
      }
    }
  }

  /// Sorts six lines of pixels by colour into `masks`.
  ///
  /// - Returns: the colours that are there.
  private mutating func takeBand(_ picture: RGBPicture, top: Int) -> [Int] {
    var used: [Int] = []
    let width = picture.width
    let levels = levels
    let lines = min(6, picture.height - top)
    picture.bytes.withUnsafeBufferPointer { bytes in
      masks.withUnsafeMutableBufferPointer { masks in
        isUsed.withUnsafeMutableBufferPointer { isUsed in
          Self.thresholds.withUnsafeBufferPointer { thresholds in
            for line in 0..<lines {
              var index = (top + line) * width * 3
              let bit = UInt8(1) << UInt8(line)
              let row = (top + line) & 3
              for column in 0..<width {
                // 16 thresholds spread over one step of 255.
                let threshold = thresholds[row &* 4 &+ column & 3] &* 16 &+ 8
                let red = (Int(bytes[index]) &* (levels.red &- 1) &+ threshold) / 256
                let green = (Int(bytes[index &+ 1]) &* (levels.green &- 1) &+ threshold) / 256
                let blue = (Int(bytes[index &+ 2]) &* (levels.blue &- 1) &+ threshold) / 256
                let color = (red &* levels.green &+ green) &* levels.blue &+ blue
                if !isUsed[color] {
                  isUsed[color] = true
                  used.append(color)
                }
                masks[color &* width &+ column] |= bit
                index &+= 3
              }
            }
          }
        }
      }
    }
    return used
  }

  /// One colour of a band, run-length encoded. Leaves its mask empty.
  private static func put(_ masks: UnsafeMutableBufferPointer<UInt8>, _ output: inout [UInt8]) {
    var column = 0
    while column < masks.count {
      let mask = masks[column]
      var end = column &+ 1
      while end < masks.count, masks[end] == mask { end &+= 1 }
      // Nothing has to be said of what is empty up to the end of the line.
      if mask == 0 && end == masks.count { break }
      let count = end &- column
      if count > 3 {
        output.append(0x21)
        append(number: count, to: &output)
        output.append(0x3F &+ mask)
      } else {
        for _ in 0..<count { output.append(0x3F &+ mask) }
      }
      column = end
    }
    masks.update(repeating: 0)
  }

  private mutating func append(_ text: String) { output.append(contentsOf: text.utf8) }

  private mutating func append(number: Int) { Self.append(number: number, to: &output) }

  private static func append(number: Int, to output: inout [UInt8]) {
    if number >= 10 { append(number: number / 10, to: &output) }
    output.append(UInt8(truncatingIfNeeded: 0x30 + number % 10))
  }
}

/// Commands of the kitty graphics protocol (sw.kovidgoyal.net/kitty/graphics-protocol). Answers to them are
/// turned off (`q=2`); only the question asks for one.
enum KittyGraphics {
  /// Of the image that the question speaks of.
  static let questionID = 31
  /// Whether pictures are drawn: answered with `OK` by terminals that know the protocol.
  static let question = "\u{1B}_Gi=\(questionID),s=1,v=1,a=q,t=d,f=24;AAAA\u{1B}\\"
  /// Removes all pictures and frees their memory.
  static let deleteAll = "\u{1B}_Ga=d,d=A,q=2\u{1B}\\"

  /// Removes one picture and frees its memory.
  static func delete(id: Int) -> String { "\u{1B}_Ga=d,d=I,i=\(id),q=2\u{1B}\\" }

  /// A command carries at most so many characters of a picture.
  private static let chunk = 4096

  /// Draws a picture from the cursor on, which stays where it is. It lies beneath the text and beneath the
  /// ground of cells that have one.
  ///
  /// - Parameters:
  ///   - id: of the picture, for `delete`.
  ///   - layer: higher ones lie over lower ones, 0 is the lowest.
  ///   - columns: the terminal stretches it to so many.
  static func draw(_ picture: RGBPicture, id: Int, layer: Int, columns: Int, rows: Int) -> [UInt8] {
    // Beneath half of the least 32-bit number pictures do not hide the cells' ground.
    let depth = Int(Int32.min) / 2 - 100 + layer
    let encoded = base64(picture.bytes)
    var bytes: [UInt8] = []
    bytes.reserveCapacity(encoded.count + encoded.count / chunk * 16 + 128)
    var start = 0
    repeat {
      let end = min(encoded.count, start + chunk)
      let more = end < encoded.count ? 1 : 0
      let head =
        start == 0
        ? "\u{1B}_Ga=T,f=24,s=\(picture.width),v=\(picture.height),i=\(id),c=\(columns),r=\(rows)"
          + ",z=\(depth),C=1,q=2,m=\(more);"
        : "\u{1B}_Gm=\(more),q=2;"
      bytes.append(contentsOf: head.utf8)
      bytes.append(contentsOf: encoded[start..<end])
      bytes.append(0x1B)
      bytes.append(0x5C)
      start = end
    } while start < encoded.count
    return bytes
  }

  private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

  /// RFC 4648, section 4.
  static func base64(_ bytes: [UInt8]) -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: (bytes.count + 2) / 3 * 4) { output, count in
      alphabet.withUnsafeBufferPointer { alphabet in
        bytes.withUnsafeBufferPointer { bytes in
          var index = 0
          while index < bytes.count {
            let second = index &+ 1 < bytes.count ? bytes[index &+ 1] : 0
            let third = index &+ 2 < bytes.count ? bytes[index &+ 2] : 0
            let bits = Int(bytes[index]) << 16 | Int(second) << 8 | Int(third)
            output[count] = alphabet[bits >> 18]
            output[count &+ 1] = alphabet[bits >> 12 & 63]
            output[count &+ 2] = index &+ 1 < bytes.count ? alphabet[bits >> 6 & 63] : 0x3D
            output[count &+ 3] = index &+ 2 < bytes.count ? alphabet[bits & 63] : 0x3D
            count &+= 4
            index &+= 3
          }
        }
      }
    }
  }
}

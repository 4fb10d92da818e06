import Base
import Glibc

/// DNS messages as far as asking for a host's address by multicast needs them (RFC 6762, RFC 1035 4.1).
enum MulticastDNSMessage {
  enum RecordType: UInt16, CaseIterable {
    case a = 1
    case aaaa = 28
  }

  struct Record: Equatable {
    /// In lower case, without a dot at its end.
    var name: String
    /// As text. Without link-local IPv6, whose scope a record does not tell.
    var address: String
  }

  private static let internet: UInt16 = 1
  /// An answer's sender wants caches to forget what they had (RFC 6762, 10.2).
  private static let cacheFlush: UInt16 = 0x8000
  private static let maximumRecords = 64
  private static let maximumNameSize = 255

  /// A name that may be asked for: one label of letters, digits and hyphens before `.local`, as the names of
  /// candidates are. In lower case; nil for any other.
  static func name(_ text: String) -> String? {
    let name = text.lowercased()
    guard name.hasSuffix(".local") else { return nil }
    let label = name.utf8.dropLast(6)
    let isAllowed = label.allSatisfy { byte in
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"):
        true
      default: false
      }
    }
    return isAllowed && (1...63).contains(label.count) ? name : nil
  }

  /// One question a message: not every responder reads a second one.
  static func query(_ name: String, _ type: RecordType) -> [UInt8] {
    var message: [UInt8] = [0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0]
    for label in name.utf8.split(separator: UInt8(ascii: ".")) {
      message.append(UInt8(truncatingIfNeeded: label.count))
      message += label
    }
    message.append(0)
    for value in [type.rawValue, internet] { message += [UInt8(value >> 8), UInt8(value & 0xff)] }
    return message
  }

  /// The addresses that a response tells, of whatever names; none if it is no response or broken.
  static func records(in message: UnsafeRawBufferPointer) -> [Record] {
    var reader = ByteReader(message)
    guard reader.skip(2), let flags = reader.uint16(), flags & 0xf80f == 0x8000,
      let questions = reader.uint16(),
      let answers = reader.uint16(), let authorities = reader.uint16(), let additional = reader.uint16()
    else { return [] }
    for _ in 0..<min(Int(questions), maximumRecords) {
      guard name(&reader) != nil, reader.skip(4) else { return [] }
    }
    var records: [Record] = []
    for _ in 0..<min(Int(answers) + Int(authorities) + Int(additional), maximumRecords) {
      guard let name = name(&reader), let type = reader.uint16(), let class_ = reader.uint16(),
        reader.skip(4),
        let size = reader.uint16(), let data = reader.slice(Int(size))
      else { break }
      if class_ & ~cacheFlush == internet, let type = RecordType(rawValue: type),
        let address = address(data, type)
      {
        records.append(Record(name: name, address: address))
      }
    }
    return records
  }

  /// In lower case; compression is followed backwards only (RFC 1035, 4.1.4).
  private static func name(_ reader: inout ByteReader) -> String? {
    var text: [UInt8] = []
    // Where the labels that are read now begin; a pointer has to point before them.
    var start = reader.position
    var jumped: ByteReader?
    while let length = jumped == nil ? reader.uint8() : jumped?.uint8() {
      switch length {
      case 0: return String(decoding: text, as: UTF8.self).lowercased()
      case 1...63:
        guard let label = jumped == nil ? reader.slice(Int(length)) : jumped?.slice(Int(length)),
          text.count + label.count < maximumNameSize
        else { return nil }
        if !text.isEmpty { text.append(UInt8(ascii: ".")) }
        text += label
      case 0xc0...0xff:
        guard let low = jumped == nil ? reader.uint8() : jumped?.uint8() else { return nil }
        let target = Int(length & 0x3f) << 8 | Int(low)
        guard target < start else { return nil }
        var other = ByteReader(reader.bytes)
        guard other.skip(target) else { return nil }
        start = target
        jumped = other
      default: return nil
      }
    }
    return nil
  }

  private static func address(_ data: UnsafeRawBufferPointer, _ type: RecordType) -> String? {
    guard data.count == (type == .a ? 4 : 16), let bytes = data.baseAddress else { return nil }
    if type == .aaaa, data[0] == 0xfe, data[1] & 0xc0 == 0x80 { return nil }
    var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
    guard inet_ntop(type == .a ? AF_INET : AF_INET6, bytes, &text, socklen_t(text.count)) != nil else {
      return nil
    }
    return String(decoding: text.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
  }
}

/// As in ZIP, PNG and Ethernet (ISO 3309): polynomial 0x04C11DB7, reflected.
package struct CRC32 {
  private static let table: [UInt32] = (0..<256).map { index in
    (0..<8).reduce(UInt32(index)) { value, _ in value & 1 != 0 ? 0xEDB8_8320 ^ value >> 1 : value >> 1 }
  }

  private var register: UInt32 = .max

  package init() {}

  package var value: UInt32 { ~register }

  package mutating func add(_ bytes: ArraySlice<UInt8>) {
    Self.table.withUnsafeBufferPointer { table in
      bytes.withUnsafeBufferPointer { bytes in
        for byte in bytes {
          register = table[Int(UInt8(truncatingIfNeeded: register) ^ byte)] ^ register >> 8
        }
      }
    }
  }
}

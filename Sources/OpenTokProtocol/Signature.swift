import COpenSSL

/// Keyed hashes of tokens (RFC 2104).
package enum Signature {
  package static func sha1(_ message: some Sequence<UInt8>, key: String) -> [UInt8] {
    hmac(EVP_sha1(), size: 20, Array(message), Array(key.utf8))
  }

  package static func sha256(_ message: some Sequence<UInt8>, key: String) -> [UInt8] {
    hmac(EVP_sha256(), size: 32, Array(message), Array(key.utf8))
  }

  /// Takes as long for the first wrong byte as for the last. Nothing equals nothing: an empty hash is no proof.
  package static func equal(_ left: [UInt8], _ right: [UInt8]) -> Bool {
    !left.isEmpty && left.count == right.count && CRYPTO_memcmp(left, right, left.count) == 0
  }

  private static func hmac(_ hash: OpaquePointer?, size: Int, _ message: [UInt8], _ key: [UInt8]) -> [UInt8] {
    var digest = [UInt8](repeating: 0, count: size)
    var length = UInt32(size)
    let result = HMAC(hash, key, Int32(clamping: key.count), message, message.count, &digest, &length)
    // Only running out of memory can fail here; an empty digest matches nothing.
    return result == nil ? [] : digest
  }
}

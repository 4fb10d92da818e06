import Peer

/// The certificate of this process's ends of all peer connections, made at first use.
enum LocalCertificate {
  private static let made = Result { () throws(PeerError) in try Certificate() }

  static func get() throws(OpenTokError) -> Certificate {
    do throws(PeerError) {
      return try made.get()
    } catch {
      throw .systemFailure("no certificate can be made: \(error.text)")
    }
  }
}

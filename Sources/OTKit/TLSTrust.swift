/// Which servers are believed to be who they say they are.
public struct TLSTrust: Sendable, Equatable {
  /// A PEM file of certificates that are trusted beside those of the system.
  public var certificateFile: String?
  /// Believe every certificate: whoever is between can read and change everything.
  public var insecure: Bool

  public init(certificateFile: String? = nil, insecure: Bool = false) {
    self.certificateFile = certificateFile
    self.insecure = insecure
  }

  /// The system's certificates only.
  public static let system = TLSTrust()
}

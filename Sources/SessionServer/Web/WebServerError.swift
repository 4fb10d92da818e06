/// Why a server cannot start.
package enum WebServerError: Error, Equatable, Sendable {
  case unknownHost(String, reason: String)
  case addressInUse(host: String, port: Int)
  case permissionDenied(host: String, port: Int)
  /// The host's address is none of this machine's.
  case addressNotAvailable(host: String)
  case cannotListen(host: String, port: Int, reason: String)
  /// A certificate or key that cannot be used; the reason names the file.
  case badCertificate(reason: String)
  case outOfResources
}

/// Why the session server does not start.
package enum SessionServerError: Error, Equatable, Sendable {
  /// It cannot listen, or not with that certificate.
  case web(WebServerError)
  /// The state directory or a file in it: cannot be made, read or written.
  case state(path: String, reason: String)
  /// The directory of the archives: is none, or cannot be made or written to.
  case archives(path: String, reason: String)
  /// A kept file with something else in it than what was written there.
  case badStateFile(path: String)
  /// The database of a version of otchat that is newer than this one.
  case newerState(path: String)
  /// Clients from elsewhere, and neither an access key nor leave to serve everybody.
  case accessKeyNeeded(host: String)
  /// A public URL that is not `http://` or `https://` and a host.
  case badPublicURL(String)

  /// For logs: what is wrong with the state directory.
  var text: String {
    switch self {
    case .state(let path, let reason): "\(path): \(reason)"
    case .badStateFile(let path): "\(path) is damaged"
    default: "\(self)"
    }
  }
}

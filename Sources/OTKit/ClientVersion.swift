/// How this client presents itself to servers.
package enum ClientVersion {
  package static let number = "1.0.0"
  package static let userAgent = "otchat/\(number) (Linux)"
  /// `clientVersion` of connection create and `X-TB-CLIENT-VERSION` of session info.
  package static let text = "otchat-\(number)"
}

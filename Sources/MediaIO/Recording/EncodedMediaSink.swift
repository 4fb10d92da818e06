import RTP

/// Takes what a subscription receives as it was encoded: behind loss repair and assembly, before any
/// decoding. Called on the network thread; must not block. Nothing is called after `mediaEnded`.
package protocol EncodedMediaSink: AnyObject, Sendable {
  /// A connection is made, the first one or one after an interruption: timestamps begin anew.
  ///
  /// - Parameter requestKeyFrame: asks the publisher for a key frame; from any thread.
  func mediaBegan(requestKeyFrame: @escaping @Sendable () -> Void)
  /// In decoding order; begins with a key frame, and frames that refer to missing ones do not come.
  func receive(_ frame: ReceivedVideoFrame)
  /// In order of arrival: gaps, late packets and copies are the sink's business.
  func receive(_ packet: ReceivedAudioPacket)
  /// From any thread; may come twice.
  func mediaEnded()
}

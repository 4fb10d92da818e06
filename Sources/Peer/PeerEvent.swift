import RTP

/// What a `PeerConnection` tells its owner, on the network thread.
package enum PeerEvent: Sendable {
  /// For the other side, by signalling: `candidate:…`.
  case localCandidate(candidate: String, sdpMid: String?, sdpMLineIndex: Int)
  case gatheringComplete
  /// A TURN server (`turn:host:port`) gives no relay address, and why.
  case relayFailed(server: String, reason: String)
  /// The path's state; each end as `type address:port` once there is one; why, if there is something to say.
  /// `disconnected` comes again when a restart was in vain, until `interruptionLimit` has passed;
  /// `checking` again when one begins.
  case iceStateChanged(
    PeerConnection.ICEState, local: String?, remote: String?, PeerConnection.ICEReason? = nil)
  /// Media can flow; what was agreed on, such as `DTLSv1.2 ECDHE-ECDSA-AES256-GCM-SHA384 aeadAES128GCM`.
  case connected(String)
  /// The connection has ended; except that `mediaTimedOut` is a warning.
  case failed(PeerError)
  /// The other side needs a key frame of our video: at most one a second.
  case keyFrameRequested
  /// Bits per second that our video encoder may produce.
  case targetBitrate(Int)
  /// Share of our packets that the other side lost, 0...1.
  case packetLoss(Double)
  /// A picture that can be decoded now.
  case video(ReceivedVideoFrame)
  /// For the audio jitter buffer, in order of arrival.
  case audio(ReceivedAudioPacket)
  /// The sound must be delayed at least so long to be in time with the picture.
  case audioMinimumDelay(Duration)
  /// The other side said goodbye. The connection has ended.
  case remoteClosed
}

/// What a `PeerConnection` has counted so far.
package struct PeerStatistics: Sendable {
  /// Nil before anything was agreed on.
  package var rtp: RTPStatistics?
  package var iceState = PeerConnection.ICEState.new
  /// `type address:port` of the path in use.
  package var localCandidate: String?
  package var remoteCandidate: String?
  /// Candidates of the other side that were of no use.
  package var ignoredCandidates = 0
  package var dtls: String?
  /// Protected packets, and their bytes above UDP.
  package var packetsSent = 0
  package var bytesSent = 0
  package var packetsReceived = 0
  package var bytesReceived = 0
  package var dropped = DropCounters()
}

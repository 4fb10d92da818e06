import Peer
import RTP

/// What the network thread's half of a publication or subscription has for the session.
enum PeerOutput: Sendable {
  case offer(PeerAddress, sdp: String)
  case answer(PeerAddress, sdp: String)
  case candidate(PeerAddress, candidate: String, sdpMid: String?, sdpMLineIndex: Int)
  case iceStateChanged(
    PeerAddress, PeerConnection.ICEState, local: String?, remote: String?, PeerConnection.ICEReason?)
  /// A TURN server cannot be used, and why.
  case relayFailed(server: String, reason: String)
  /// A new path is needed.
  case pathLost(PeerAddress, PeerConnection.ICEReason)
  case connected(PeerAddress)
  /// The picture for a subscriber goes or comes back for lack of bandwidth, or may go soon.
  case fallback(PeerAddress, AudioFallback.Change)
  case failed(PeerAddress, PeerError)
  /// The other side ended the media.
  case closed(PeerAddress)
  case firstVideoFrame(streamID: String)
  case firstAudioFrame(streamID: String)
}

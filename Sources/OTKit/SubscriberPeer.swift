import Base
import MediaIO
import Peer
import RTP

/// A subscription's peer connection: answers offers and hands what is received to the decoder and the
/// audio thread.
@NetworkActor
final class SubscriberPeer {
  private let streamID: String
  private let configuration: PeerConnection.Configuration
  private let output: @Sendable (PeerOutput) -> Void
  private let video: VideoSubscribePipeline
  private let audio: AudioReceiver
  private let sink: (any EncodedMediaSink)?
  private let decodes: Bool
  private var connection: PeerConnection?
  private var address: PeerAddress?
  private var earlyCandidates: [(candidate: String, sdpMid: String?, sdpMLineIndex: Int?)] = []
  private var wantsVideo: Bool
  private var hasHeard = false

  private static let maximumEarlyCandidates = 64

  /// - Parameters:
  ///   - sink: gets what comes as it is encoded.
  ///   - decodes: whether `audio` gets it too; `video` only counts otherwise.
  init(
    streamID: String, configuration: PeerConnection.Configuration, video: VideoSubscribePipeline,
    audio: AudioReceiver, wantsVideo: Bool, sink: (any EncodedMediaSink)? = nil, decodes: Bool = true,
    output: @escaping @Sendable (PeerOutput) -> Void
  ) {
    self.streamID = streamID
    self.configuration = configuration
    self.video = video
    self.audio = audio
    self.sink = sink
    self.decodes = decodes
    self.wantsVideo = wantsVideo
    self.output = output
  }

  /// The first offer, or one that changes or restarts what is there.
  func offer(_ sdp: String, from address: PeerAddress) {
    // One that has failed or was closed by the other side takes no more offers.
    if connection?.hasEnded == true || self.address.map({ $0.peerID != address.peerID }) == true {
      connection?.close()
      connection = nil
    }
    self.address = address
    let connection =
      self.connection
      ?? PeerConnection(configuration: configuration) { [weak self] event in self?.handle(event, address) }
    self.connection = connection
    do throws(PeerError) {
      let answer = try connection.answer(toOffer: sdp)
      output(.answer(address, sdp: answer))
    } catch {
      output(.failed(address, error))
      return
    }
    for early in earlyCandidates { addCandidate(early.candidate, early.sdpMid, early.sdpMLineIndex) }
    earlyCandidates = []
  }

  func addCandidate(_ candidate: String, _ sdpMid: String?, _ sdpMLineIndex: Int?) {
    guard let connection else {
      // They can overtake the offer when a server sends messages again.
      if earlyCandidates.count < Self.maximumEarlyCandidates {
        earlyCandidates.append((candidate, sdpMid, sdpMLineIndex))
      }
      return
    }
    connection.addRemoteCandidate(candidate, sdpMid: sdpMid, sdpMLineIndex: sdpMLineIndex)
  }

  func addressesChanged(_ addresses: Set<String>) {
    if let address, connection?.isAffected(by: addresses) == true {
      output(.pathLost(address, .addressChanged))
    }
  }

  func requestKeyFrame() { connection?.requestKeyFrame() }

  func setWantsVideo(_ wants: Bool) {
    guard wants != wantsVideo else { return }
    wantsVideo = wants
    if wants { requestKeyFrame() }
  }

  func close() {
    connection?.close()
    connection = nil
  }

  func statistics() -> PeerStatistics? { connection?.statistics() }

  private func handle(_ event: PeerEvent, _ address: PeerAddress) {
    switch event {
    case .video(let frame):
      guard wantsVideo else { break }
      sink?.receive(frame)
      video.push(frame)
    case .audio(let packet):
      sink?.receive(packet)
      if decodes { audio.push(packet) }
      if !hasHeard {
        hasHeard = true
        output(.firstAudioFrame(streamID: streamID))
      }
      if let position = audio.playoutPosition { connection?.updateAudioPlayout(position) }
    case .audioMinimumDelay(let delay):
      audio.setMinimumDelay(delay)
    case .localCandidate(let candidate, let mid, let index):
      output(.candidate(address, candidate: candidate, sdpMid: mid, sdpMLineIndex: index))
    case .iceStateChanged(let state, let local, let remote, let reason):
      output(.iceStateChanged(address, state, local: local, remote: remote, reason))
    case .relayFailed(let server, let reason):
      output(.relayFailed(server: server, reason: reason))
    case .connected:
      output(.connected(address))
    case .failed(let error):
      output(.failed(address, error))
    case .remoteClosed:
      output(.closed(address))
    case .gatheringComplete, .keyFrameRequested, .targetBitrate, .packetLoss:
      break
    }
  }
}

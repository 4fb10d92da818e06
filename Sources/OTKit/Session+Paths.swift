import Base
import OpenTokProtocol
import Peer

/// Paths of media: by which servers they are looked for, and what is done when one is lost.
///
/// The publisher makes a new offer (ICE restart): at silence, when its address has changed, when it is asked.
/// A subscriber asks for one, and where none comes or it leads nowhere it subscribes anew.
extension Session {
  /// How long the answer to a restart is waited for before another may be tried.
  static let restartPatience: Duration = .seconds(10)
  /// For the offer that was asked for, when the path is certainly gone.
  static let offerPatience: Duration = .seconds(3)
  /// The same when it may come back: the publisher may have lost its network, and its signalling too.
  static let silencePatience: Duration = .seconds(20)

  func peerConfiguration(
    _ servers: [OpenTokProtocol.ICEServer]
  ) throws(OpenTokError) -> PeerConnection.Configuration {
    var configuration = PeerConnection.Configuration(
      certificate: try LocalCertificate.get(), cname: String(ownConnection?.id.prefix(16) ?? "otchat"))
    let named = servers.isEmpty ? info?.iceServers ?? [] : servers
    configuration.iceServers =
      named.map { .init(urls: $0.urls, username: $0.username, credential: $0.credential) }
      + self.configuration.iceServers.map {
        .init(urls: $0.urls, username: $0.username, credential: $0.credential)
      }
    configuration.relayTrust = RelayTrust(
      certificateFile: self.configuration.trust.certificateFile, insecure: self.configuration.trust.insecure)
    configuration.relayOnly = self.configuration.relayOnly || info?.relayOnly == true
    configuration.link = self.configuration.link
    configuration.capture = self.configuration.capture
    return configuration
  }

  /// Told once a server and reason, however many peer connections find it out.
  func relayFailed(_ server: String, _ reason: String) {
    guard toldRelays.count < Self.maximumToldRelays, toldRelays.insert("\(server) \(reason)").inserted else {
      return
    }
    emit(.warning("the TURN server \(server) gives no relay address: \(reason)"))
  }

  private static let maximumToldRelays = 32

  // MARK: The publisher's end

  /// The path to a subscriber is lost: it gets a new offer, as soon as there is a way to send it.
  func restartPath(_ peer: PeerAddress, _ reason: PeerConnection.ICEReason) {
    guard let publication = publications[peer.streamID] else { return }
    let now = MonotonicClock.now()
    let asked = publication.restarting[peer]
    // Whoever asks for an offer may have been away, and has the last one still to come.
    let patience = reason == .requested ? PeerConnection.answerLimit : Self.restartPatience
    let isLate = asked.map { now - $0 >= patience } ?? false
    // An offer with an address that is gone is no longer worth waiting for.
    if asked != nil, !isLate, reason != .addressChanged { return }
    guard machine?.state == .connected else {
      publications[peer.streamID]?.awaitingRestart[peer] = reason
      return
    }
    publications[peer.streamID]?.restarting[peer] = now
    let peers = publication.peers
    NetworkActor.perform { peers.restartICE(peer, reason, answerIsLost: isLate) }
  }

  /// It has answered, or there is nobody left to answer.
  func forgetRestart(_ peer: PeerAddress) {
    guard var publication = publications[peer.streamID] else { return }
    publication.awaitingRestart = publication.awaitingRestart.filter { !$0.key.matches(peer) }
    publication.restarting = publication.restarting.filter { !$0.key.matches(peer) }
    publications[peer.streamID] = publication
  }

  // MARK: The subscriber's end

  /// The path of a subscription is lost: its publisher is asked for an offer, as soon as there is a way to ask.
  func askForOffer(_ id: String, _ reason: PeerConnection.ICEReason) {
    guard let subscription = subscriptions[id], let address = subscription.address else { return }
    if reason == .restartFailed { return failed(id, .ice, "no new path was found") }
    let now = MonotonicClock.now()
    if let asked = subscription.asked, now - asked < Self.restartPatience { return }
    guard machine?.state == .connected else {
      subscriptions[id]?.offerIsWanted = reason
      return
    }
    subscriptions[id]?.asked = now
    subscriptions[id]?.offerIsWanted = nil
    let isGone = reason == .addressChanged
    watch(id, isGone ? Self.offerPatience : Self.silencePatience, .ice, "the path was lost and no offer came")
    Task {
      do throws(OpenTokError) {
        try await request {
          $0.requestOffer(address)
        } refused: {
          .requestRefused(status: $0, reason: $1)
        }
      } catch {
        // A server that does not pass this on: a new subscription makes the publisher offer.
        if case .requestRefused = error, isGone { failed(id, .ice, "the address has changed") }
      }
    }
  }

  /// There is a path again.
  func pathIsBack(_ id: String) {
    guard let subscription = subscriptions[id], subscription.asked != nil || subscription.offerIsWanted != nil
    else { return }
    subscriptions[id]?.asked = nil
    subscriptions[id]?.offerIsWanted = nil
    subscriptions[id]?.watchdog?.cancel()
    subscriptions[id]?.watchdog = nil
  }

  // MARK: Signalling and addresses

  func signallingIsBack() {
    for (streamID, publication) in publications where !publication.awaitingRestart.isEmpty {
      publications[streamID]?.awaitingRestart = [:]
      for (peer, reason) in publication.awaitingRestart { restartPath(peer, reason) }
    }
    for (id, subscription) in subscriptions {
      if let reason = subscription.offerIsWanted { askForOffer(id, reason) }
    }
  }

  func watchAddresses() async {
    addressObservation = await AddressWatch.shared.observe { [inbox] in inbox.yield(.addresses($0)) }
  }

  /// As if the network had cut the socket off: it is lost without a goodbye and opened again.
  package func loseSocket() {
    machine?.networkChanged(socketIsCutOff: true, at: MonotonicClock.now())
    act()
  }

  func addressesChanged(_ addresses: Set<String>) {
    let local = socket?.localAddress
    machine?.networkChanged(
      socketIsCutOff: local.map { !addresses.contains($0) && !$0.hasPrefix("fe80:") } ?? false,
      at: MonotonicClock.now())
    let (publishing, subscribing) = (publications.values.map(\.peers), subscriptions.values.map(\.peer))
    NetworkActor.perform {
      for peers in publishing { peers.addressesChanged(addresses) }
      for peer in subscribing { peer.addressesChanged(addresses) }
    }
  }
}

import Base
import CLinux
import CNice
import SDP

/// One generation of ICE (RFC 8445, full, trickle by RFC 8838): gathers candidates, finds a path, asks the
/// other side from time to time whether it is still there, and carries datagrams. A restart is a new
/// transport.
///
/// libnice's own consent freshness is off: it gives a path up after 10 s without an answer, for good, where
/// RFC 7675 (5.1) allows 30 and a network is often back by then. In its place the path is checked by binding
/// requests, whose failure ends sending here, and `PeerConnection` allows no more than 30 s of silence.
@NetworkActor
final class ICETransport {
  /// The names of the W3C's RTCIceTransportState.
  enum State: String, Sendable {
    case new, checking, connected, completed, failed, closed
  }

  enum Event: Sendable {
    /// A candidate of ours: `candidate:…`.
    case candidate(String)
    case gatheringComplete
    /// A TURN server gives no relay address: which, and why.
    case relayFailed(server: String, reason: String)
    case stateChanged(State)
    /// The path in use, each end as `type address:port`.
    case selectedPair(local: String, remote: String)
  }

  struct Configuration: Sendable {
    var servers: [PeerConnection.ICEServer] = []
    /// Of servers that are reached over TLS.
    var relayTrust = RelayTrust()
    /// Only candidates of TURN servers.
    var relayOnly = false
    /// Candidates on the loopback interface even if there are other interfaces; without others they are
    /// always made.
    var includesLoopback = false
    /// TCP too (RFC 6544), for networks that let no UDP pass. Costs up to two seconds where UDP does, as
    /// libnice then waits for more checks before it decides.
    var usesTCP = false
    /// For routers on the way (RFC 8837).
    var marking = Marking.interactiveVideo
    /// Of `.local` names; nil: the process's.
    var resolver: MulticastResolver?
  }

  /// Differentiated services code points. Sound and picture share a path, and marks that differ could let
  /// one overtake the other within it, which congestion control would take for jitter (RFC 7657, 5.4): where
  /// there is a picture all is marked as one.
  enum Marking: Int32, Sendable {
    /// EF
    case telephony = 46
    /// AF41
    case interactiveVideo = 34

    /// The octet in the IP header, without its two bits for ECN.
    var octet: Int32 { rawValue << 2 }
  }

  private static let maximumRelays = 4
  private static let maximumRemoteCandidates = Int(NICE_AGENT_MAX_REMOTE_CANDIDATES)
  private static let maximumNames = 8
  static let component: UInt32 = 1

  /// The owner's number for it.
  let generation: Int
  let userFragment: String
  let password: String
  private(set) var state = State.new
  private(set) var selectedPair: (local: String, remote: String)?
  /// Our own address that the selected path goes out from.
  private var base: String?
  /// What host candidates were made of; empty: of what libnice finds.
  private var gathered: [String] = []
  /// Remote candidates that were of no use: TCP, names that nobody knows, unreadable, or too many.
  private(set) var ignoredCandidates = 0

  private let configuration: Configuration
  private let events: (Event) -> Void
  let received: (UnsafeMutableRawBufferPointer, Instant) -> Void
  let drained: (Instant) -> Void
  /// What carries media where libnice need not.
  private var media: MediaSocket?
  let agent: UnsafeMutableRawPointer  // GObject, one reference is ours until `close`
  let stream: UInt32
  private var tunnels: [TLSTunnel] = []
  private var relays: [Relay] = []
  private var relayCandidates = 0
  private var remoteCandidates = 0
  private var isGathering = false
  private var names = 0
  private var unresolved = 0
  private var remoteCandidatesEnded = false

  /// A TURN server that libnice was told of.
  private struct Relay {
    var url: ICEServerURL
    var server: PeerConnection.ICEServer
  }

  /// To be used for each call of libnice: it may change what the loop has to wait for.
  var niceAgent: OpaquePointer {
    NetworkThread.shared.loop.touch()
    return OpaquePointer(agent)
  }

  /// - Parameters:
  ///   - isControlling: the side that made the offer, or faces an ICE-lite agent (RFC 8445, 6.1.1).
  ///   - isLite: answers checks and makes none.
  ///   - received: called with each datagram that is not ICE's own; its memory may be written to and is
  ///     valid during the call only.
  ///   - drained: called after the last of those that were there at a time.
  init(
    configuration: Configuration, generation: Int = 0, isControlling: Bool, isLite: Bool = false,
    events: @escaping (Event) -> Void,
    received: @escaping (UnsafeMutableRawBufferPointer, Instant) -> Void,
    drained: @escaping (Instant) -> Void = { _ in }
  ) throws(PeerError) {
    NetworkThread.shared.loop.touch()
    let lite = isLite ? NICE_AGENT_OPTION_LITE_MODE : NICE_AGENT_OPTION_NONE
    let options = NiceAgentOption(
      rawValue: NICE_AGENT_OPTION_ICE_TRICKLE.rawValue | lite.rawValue)
    guard
      let agent = nice_agent_new_full(
        NetworkThread.shared.loop.context, NICE_COMPATIBILITY_RFC5245, options)
    else { throw .library("libnice: nice_agent_new_full") }
    let object = UnsafeMutableRawPointer(agent)
    otchat_set_boolean(object, "upnp", 0)  // 200 ms of waiting for routers that do not answer
    otchat_set_boolean(object, "ice-tcp", configuration.usesTCP ? 1 : 0)
    otchat_set_boolean(object, "keepalive-conncheck", 1)
    otchat_set_uint(object, "idle-timeout", 2000)  // ms from the last failed check to `failed`
    otchat_set_boolean(object, "controlling-mode", isControlling ? 1 : 0)
    otchat_set_boolean(object, "force-relay", configuration.relayOnly ? 1 : 0)
    let stream = nice_agent_add_stream(agent, 1)
    nice_agent_set_stream_tos(agent, stream, configuration.marking.octet)
    var fragment: UnsafeMutablePointer<CChar>?
    var password: UnsafeMutablePointer<CChar>?
    guard stream > 0, nice_agent_get_local_credentials(agent, stream, &fragment, &password) != 0,
      let fragment, let password
    else {
      g_object_unref(object)
      throw .library("libnice: nice_agent_add_stream")
    }
    defer {
      g_free(fragment)
      g_free(password)
    }
    self.configuration = configuration
    self.generation = generation
    self.events = events
    self.received = received
    self.drained = drained
    self.agent = object
    self.stream = stream
    userFragment = String(cString: fragment)
    self.password = String(cString: password)
    let addresses = HostAddresses(
      choosingFrom: LocalAddress.all(), includesLoopback: configuration.includesLoopback)
    gathered = addresses.used.map(\.text)
    AddressWatch.shared.tell(addresses)
    configureServers()
    connectCallbacks()
  }

  isolated deinit { close() }

  /// Starts gathering; candidates come as events.
  func gather() throws(PeerError) {
    guard !isGathering, state != .closed else { return }
    isGathering = true
    for text in gathered {
      var address = NiceAddress()
      nice_address_init(&address)
      if nice_address_set_from_string(&address, text) != 0 {
        nice_agent_add_local_address(niceAgent, &address)
      }
    }
    guard nice_agent_gather_candidates(niceAgent, stream) != 0 else {
      throw .library("libnice: no candidate on any interface")
    }
  }

  /// - Returns: false if libnice refuses them (RFC 8839, 5.4 has the lengths).
  func setRemote(userFragment: String, password: String) -> Bool {
    guard state != .closed, (4...256).contains(userFragment.utf8.count),
      (22...256).contains(password.utf8.count)
    else { return false }
    return nice_agent_set_remote_credentials(niceAgent, stream, userFragment, password) != 0
  }

  /// Takes in a candidate of the other side. A name ending in `.local` becomes one as soon as the local
  /// network has told whose it is; if it does not, its owner's checks may still reach us.
  func addRemoteCandidate(_ candidate: ICECandidate) {
    guard state != .closed else { return }
    guard remoteCandidates < Self.maximumRemoteCandidates,
      candidate.isUDP || candidate.isTCP && configuration.usesTCP,
      candidate.component == UInt16(Self.component)
    else { return ignore() }
    if candidate.isMDNS { resolve(candidate) } else { use(candidate) }
  }

  private func ignore() { ignoredCandidates &+= 1 }

  private func use(_ candidate: ICECandidate) {
    guard remoteCandidates < Self.maximumRemoteCandidates,
      let parsed = nice_agent_parse_remote_candidate_sdp(niceAgent, stream, "a=\(candidate.text)")
    else { return ignore() }
    defer { nice_candidate_free(parsed) }
    var node = GSList(data: UnsafeMutableRawPointer(parsed), next: nil)
    if nice_agent_set_remote_candidates(niceAgent, stream, Self.component, &node) > 0 {
      remoteCandidates += 1
    } else {
      ignore()
    }
  }

  private func resolve(_ candidate: ICECandidate) {
    unresolved += 1
    guard names < Self.maximumNames else { return ignore() }
    names += 1
    (configuration.resolver ?? .shared).resolve(candidate.address) { [weak self] address in
      guard let self, state != .closed else { return }
      guard let address else { return ignore() }
      unresolved -= 1
      var named = candidate
      named.address = address
      use(named)
      finishRemoteCandidates()
    }
  }

  /// The other side has no more candidates, so that all of them failing is final.
  func endRemoteCandidates() {
    remoteCandidatesEnded = true
    finishRemoteCandidates()
  }

  /// Whom we could not find may find us.
  private func finishRemoteCandidates() {
    guard state != .closed, remoteCandidatesEnded, unresolved == 0 else { return }
    nice_agent_peer_candidate_gathering_done(niceAgent, stream)
  }

  /// Sends one datagram on the selected path, without blocking. False if there is none, the other side no
  /// longer answers on it, or it is congested.
  func send(_ datagram: UnsafeRawBufferPointer) -> Bool {
    guard state != .closed, state != .failed, let bytes = datagram.baseAddress else { return false }
    if let media { return media.send(datagram) }
    let sent = nice_agent_send(
      niceAgent, stream, Self.component, UInt32(clamping: datagram.count),
      bytes.assumingMemoryBound(to: CChar.self))
    return sent == datagram.count
  }

  /// Ends everything; no event follows. TURN allocations are given back in the background.
  func close() {
    guard state != .closed else { return }
    state = .closed
    media?.close()
    media = nil
    otchat_disconnect_signals(agent, Unmanaged.passUnretained(self).toOpaque())
    nice_agent_attach_recv(niceAgent, stream, Self.component, NetworkThread.shared.loop.context, nil, nil)
    // libnice drops our reference in the callback, which comes on this thread's loop, never from within
    // this call's caller's callback.
    nice_agent_close_async(niceAgent, { agent, _, _ in g_object_unref(agent) }, nil)
  }

  /// Whether the path goes out from an address that is not among `addresses`. Where that is not known, as for
  /// a relay over TCP, or there is no path yet: whether any that it might is missing.
  func isCutOff(from addresses: Set<String>) -> Bool {
    if let base, gathered.contains(base) { return !addresses.contains(base) }
    return !addresses.isSuperset(of: gathered)
  }

  private func configureServers() {
    var hasSTUN = false
    var relays = 0
    for server in configuration.servers {
      for url in server.urls.compactMap({ ICEServerURL($0) }) {
        switch url.scheme {
        case .stun where !hasSTUN:
          hasSTUN = true
          otchat_set_string(agent, "stun-server", url.host)
          otchat_set_uint(agent, "stun-server-port", UInt32(url.port))
        case .turn where relays < Self.maximumRelays, .turns where relays < Self.maximumRelays:
          relays += 1
          use(url, server)
        case .stun, .turn, .turns:
          Log.debug("ice", "one server too many is not used: \(url.scheme) \(url.host)")
        case .stuns: Log.info("ice", "\(url.scheme) servers are not supported: \(url.host)")
        }
      }
    }
  }

  private func use(_ url: ICEServerURL, _ server: PeerConnection.ICEServer) {
    var (host, port) = (url.host, url.port)
    if url.scheme == .turns {
      guard url.transport == .tcp else {
        return Log.info("ice", "TURN over DTLS is not supported: \(url.host)")
      }
      let isIPv6 = !gathered.isEmpty && gathered.allSatisfy { $0.contains(":") }
      let destination = TLSTunnel.Destination(host: host, port: port, trust: configuration.relayTrust)
      guard let tunnel = TLSTunnel(to: destination, isIPv6: isIPv6) else { return }
      tunnels.append(tunnel)
      (host, port) = (isIPv6 ? "::1" : "127.0.0.1", tunnel.port)
    }
    relays.append(Relay(url: url, server: server))
    nice_agent_set_relay_info(
      niceAgent, stream, Self.component, host, UInt32(port), server.username ?? "", server.credential ?? "",
      url.transport == .udp ? NICE_RELAY_TYPE_TURN_UDP : NICE_RELAY_TYPE_TURN_TCP)
  }

  // MARK: What libnice says

  func stateChanged(_ component: NiceComponentState) {
    let next: State
    switch component {
    case NICE_COMPONENT_STATE_CONNECTING: next = .checking
    case NICE_COMPONENT_STATE_CONNECTED: next = .connected
    case NICE_COMPONENT_STATE_READY:
      next = .completed
      // Checks are repeated for half a minute from now on, as long as consent lasts; to find a path each was
      // given up after three and a half seconds, so that all of them failing is known soon.
      otchat_set_uint(agent, "stun-max-retransmissions", 7)
    case NICE_COMPONENT_STATE_FAILED: next = .failed
    default: return
    }
    guard next != state else { return }
    state = next
    report(.stateChanged(next))
  }

  func gatheringEnded() {
    report(.gatheringComplete)
    // A relay address for each of ours is what each server gives. libnice does not tell which server one is of.
    guard relayCandidates < relays.count * max(1, gathered.count) else { return }
    for relay in relays where RelayCheck.isDue(relay.url, at: MonotonicClock.now()) {
      let check = RelayCheck(
        url: relay.url, userName: relay.server.username ?? "", credential: relay.server.credential ?? "",
        trust: configuration.relayTrust)
      // Without a thread left, only the reason stays untold.
      _ = try? MediaThread.start(name: "turn check") {
        guard let reason = check.reason() else { return }
        NetworkActor.perform { [weak self] in
          self?.report(.relayFailed(server: check.url.text, reason: reason))
        }
      }
    }
  }

  func found(_ candidate: UnsafeMutablePointer<NiceCandidate>) {
    if candidate.pointee.type == NICE_CANDIDATE_TYPE_RELAYED { relayCandidates += 1 }
    guard !configuration.relayOnly || candidate.pointee.type == NICE_CANDIDATE_TYPE_RELAYED,
      let text = nice_agent_generate_local_candidate_sdp(niceAgent, candidate)
    else { return }
    defer { g_free(text) }
    report(.candidate(String(String(cString: text).trimmingPrefix("a="))))
  }

  func selected(
    local: String, remote: String, base: String, destination: MediaSocket.Destination
  ) {
    selectedPair = (local, remote)
    self.base = base
    media?.close()  // first: there is one a port
    media = nil
    let descriptor = otchat_selected_descriptor(niceAgent, stream, Self.component)
    if descriptor >= 0 {
      media = MediaSocket(
        beside: descriptor, to: destination, isKnown: { [weak self] in self?.isRemote($0) ?? false },
        received: received, drained: drained)
    }
    report(.selectedPair(local: local, remote: remote))
  }

  /// Whether the other side has a candidate with this address, told or found out.
  private func isRemote(_ address: otchat_address) -> Bool {
    let first = nice_agent_get_remote_candidates(niceAgent, stream, Self.component)
    defer {
      g_slist_free_full(first) { nice_candidate_free($0?.assumingMemoryBound(to: NiceCandidate.self)) }
    }
    var next = first
    while let node = next {
      if let candidate = node.pointee.data?.assumingMemoryBound(to: NiceCandidate.self),
        MediaSocket.Destination({ otchat_socket_address(candidate, $0) }).address == address
      {
        return true
      }
      next = node.pointee.next
    }
    return false
  }

  /// From the loop, never from within one of libnice's calls or ours, so that whoever hears it may call
  /// anything, `close` included.
  private func report(_ event: Event) {
    NetworkActor.perform { [weak self] in
      guard let self, state != .closed else { return }
      events(event)
    }
  }
}
